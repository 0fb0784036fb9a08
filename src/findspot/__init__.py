"""Findspot: local-first search for AI coding assistants and for people.

Everything a caller needs is exported here; the reference is docs/library-reference.md.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False

__version__ = "0.2.0"
__all__ = [
    "AddedDocument",
    "Aim",
    "Assistance",
    "CancelToken",
    "CancelledError",
    "Catalogue",
    "CatalogueNotFoundError",
    "Citation",
    "CodeReference",
    "Completion",
    "Context",
    "ContextChunk",
    "ContextSearcher",
    "Corpus",
    "Dependency",
    "DiskFullError",
    "DocsIndexNotFoundError",
    "Document",
    "Edge",
    "EmbedMode",
    "Embedder",
    "Engine",
    "Expansion",
    "FileLimitError",
    "FileNotIndexedError",
    "Findings",
    "FindspotError",
    "Focus",
    "FoundDocument",
    "FoundEdge",
    "FoundNode",
    "Graph",
    "GroupBy",
    "Hit",
    "HomeNotWritableError",
    "IncludeTests",
    "IndexBusyError",
    "IndexCorruptError",
    "IndexFormatError",
    "IndexInfo",
    "IndexNotFoundError",
    "IndexReader",
    "IndexReport",
    "IndexState",
    "IndexStatus",
    "IndexStoppedError",
    "Inquiry",
    "InvalidArgumentError",
    "InvalidPatternError",
    "LanguageModelError",
    "Mode",
    "ModelMismatchError",
    "ModelUnavailableError",
    "NamedIndexes",
    "Node",
    "NotAFolderError",
    "Outline",
    "PackageIndexes",
    "PathNotFoundError",
    "PermissionDeniedError",
    "PossiblePlace",
    "Progress",
    "ProgressSink",
    "Project",
    "ProjectChunks",
    "ProjectNotDetectedError",
    "Prompt",
    "ProviderError",
    "Query",
    "Reason",
    "Region",
    "Relation",
    "Request",
    "Results",
    "Sample",
    "SearchAnswer",
    "SearchMode",
    "SearchOptions",
    "SearchResult",
    "Settings",
    "Skip",
    "SkipReason",
    "Span",
    "StoreRefusedError",
    "StoreUnavailableError",
    "Strength",
    "Suggestion",
    "Supervisor",
    "SymlinkError",
    "Synthesis",
    "SystemLimitError",
    "ToolDefinition",
    "ToolReference",
    "ToolResults",
    "ToolSearchOptions",
    "Unresolved",
    "WatcherStatus",
    "__version__",
    "add_cortex_search_tool",
]

if TYPE_CHECKING:
    from findspot.catalogue.catalogue import Catalogue
    from findspot.catalogue.tool_record import (
        CatalogueNotFoundError,
        SearchMode,
        ToolDefinition,
        ToolReference,
        ToolResults,
        ToolSearchOptions,
    )
    from findspot.chunkfiles import ContextChunk, ContextSearcher, ProjectChunks, SearchOptions, SearchResult
    from findspot.core.errors import (
        CancelledError,
        DiskFullError,
        DocsIndexNotFoundError,
        FileLimitError,
        FileNotIndexedError,
        FindspotError,
        HomeNotWritableError,
        IndexBusyError,
        IndexCorruptError,
        IndexFormatError,
        IndexNotFoundError,
        IndexStoppedError,
        InvalidArgumentError,
        InvalidPatternError,
        LanguageModelError,
        ModelMismatchError,
        ModelUnavailableError,
        NotAFolderError,
        PathNotFoundError,
        PermissionDeniedError,
        ProjectNotDetectedError,
        ProviderError,
        StoreRefusedError,
        StoreUnavailableError,
        SymlinkError,
        SystemLimitError,
    )
    from findspot.core.model import (
        Assistance,
        CodeReference,
        Corpus,
        Expansion,
        GroupBy,
        Hit,
        IncludeTests,
        IndexReport,
        IndexState,
        IndexStatus,
        Mode,
        Progress,
        Query,
        Results,
        Skip,
        SkipReason,
        Span,
        Strength,
        Suggestion,
        Synthesis,
    )
    from findspot.core.progress import CancelToken, ProgressSink
    from findspot.core.settings import Settings
    from findspot.dependencies.package import Dependency
    from findspot.documents import (
        AddedDocument,
        Document,
        FoundDocument,
        IndexInfo,
        NamedIndexes,
        SearchAnswer,
    )
    from findspot.embed.embedder import Embedder, EmbedMode
    from findspot.engine import Engine
    from findspot.graph import Edge, Graph, Node, Outline, Relation, Unresolved
    from findspot.llm import Completion, Prompt, Sample
    from findspot.package_indexes import PackageIndexes
    from findspot.project import Project
    from findspot.research.findings import (
        Aim,
        Citation,
        Context,
        Findings,
        Focus,
        FoundEdge,
        FoundNode,
        Inquiry,
        PossiblePlace,
        Reason,
        Region,
    )
    from findspot.research.task_signals import Request
    from findspot.search.reader import IndexReader
    from findspot.serve.mcp.tools.cortex import add_cortex_search_tool
    from findspot.sync.supervisor import Supervisor, WatcherStatus

_EXPORTS = {
    "findspot.catalogue.catalogue": "Catalogue",
    "findspot.catalogue.tool_record": (
        "CatalogueNotFoundError SearchMode ToolDefinition ToolReference ToolResults ToolSearchOptions "
    ),
    "findspot.chunkfiles": "ContextChunk ContextSearcher ProjectChunks SearchOptions SearchResult",
    "findspot.core.errors": (
        "CancelledError DiskFullError DocsIndexNotFoundError FileLimitError FileNotIndexedError "
        "FindspotError HomeNotWritableError IndexBusyError IndexCorruptError IndexFormatError "
        "IndexNotFoundError IndexStoppedError InvalidArgumentError InvalidPatternError LanguageModelError "
        "ModelMismatchError ModelUnavailableError NotAFolderError PathNotFoundError PermissionDeniedError "
        "ProjectNotDetectedError ProviderError StoreRefusedError StoreUnavailableError SymlinkError "
        "SystemLimitError "
    ),
    "findspot.core.model": (
        "Assistance CodeReference Corpus Expansion GroupBy Hit IncludeTests IndexReport IndexState "
        "IndexStatus Mode Progress Query Results Skip SkipReason Span Strength Suggestion "
        "Synthesis "
    ),
    "findspot.core.progress": "CancelToken ProgressSink",
    "findspot.core.settings": "Settings",
    "findspot.documents": ("AddedDocument Document FoundDocument IndexInfo NamedIndexes SearchAnswer "),
    "findspot.embed.embedder": "EmbedMode Embedder",
    "findspot.engine": "Engine",
    "findspot.graph": "Edge Graph Node Outline Relation Unresolved",
    "findspot.llm": "Completion Prompt Sample",
    "findspot.dependencies.package": "Dependency",
    "findspot.package_indexes": "PackageIndexes",
    "findspot.project": "Project",
    "findspot.research.findings": (
        "Aim Citation Context Findings Focus FoundEdge FoundNode Inquiry PossiblePlace Reason Region"
    ),
    "findspot.research.task_signals": "Request",
    "findspot.search.reader": "IndexReader",
    "findspot.serve.mcp.tools.cortex": "add_cortex_search_tool",
    "findspot.sync.supervisor": "Supervisor WatcherStatus",
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `import findspot` costs nothing."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'findspot' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
