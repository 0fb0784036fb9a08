"""Findspot: local-first search for AI coding assistants and for people.

Everything a caller needs is exported here; the reference is docs/library-reference.md.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False

__version__ = "0.2.0"

if TYPE_CHECKING:
    from findspot.catalogue.catalogue import Catalogue as Catalogue
    from findspot.catalogue.tool_record import (
        CatalogueNotFoundError as CatalogueNotFoundError,
        SearchMode as SearchMode,
        ToolDefinition as ToolDefinition,
        ToolReference as ToolReference,
        ToolResults as ToolResults,
        ToolSearchOptions as ToolSearchOptions,
    )
    from findspot.chunkfiles.chunk_reader import (
        ContextChunk as ContextChunk,
        ContextSearcher as ContextSearcher,
        SearchOptions as SearchOptions,
        SearchResult as SearchResult,
    )
    from findspot.chunkfiles.searcher import ProjectChunks as ProjectChunks
    from findspot.core.errors import (
        CancelledError as CancelledError,
        DiskFullError as DiskFullError,
        DocsIndexNotFoundError as DocsIndexNotFoundError,
        FileLimitError as FileLimitError,
        FileNotIndexedError as FileNotIndexedError,
        FindspotError as FindspotError,
        IndexBusyError as IndexBusyError,
        IndexCorruptError as IndexCorruptError,
        IndexFormatError as IndexFormatError,
        IndexNotFoundError as IndexNotFoundError,
        IndexStoppedError as IndexStoppedError,
        InvalidArgumentError as InvalidArgumentError,
        InvalidPatternError as InvalidPatternError,
        LanguageModelError as LanguageModelError,
        ModelMismatchError as ModelMismatchError,
        ModelUnavailableError as ModelUnavailableError,
        PathNotFoundError as PathNotFoundError,
        PermissionDeniedError as PermissionDeniedError,
        ProjectNotDetectedError as ProjectNotDetectedError,
        ProviderError as ProviderError,
        StoreRefusedError as StoreRefusedError,
        StoreUnavailableError as StoreUnavailableError,
        SymlinkError as SymlinkError,
        SystemLimitError as SystemLimitError,
    )
    from findspot.core.model import (
        Assistance as Assistance,
        CodeReference as CodeReference,
        Corpus as Corpus,
        Expansion as Expansion,
        GroupBy as GroupBy,
        Hit as Hit,
        IncludeTests as IncludeTests,
        IndexReport as IndexReport,
        IndexState as IndexState,
        IndexStatus as IndexStatus,
        Mode as Mode,
        Progress as Progress,
        Query as Query,
        Results as Results,
        Skip as Skip,
        SkipReason as SkipReason,
        Span as Span,
        Strength as Strength,
        Synthesis as Synthesis,
    )
    from findspot.core.progress import (
        CancelToken as CancelToken,
        ProgressSink as ProgressSink,
    )
    from findspot.core.settings import Settings as Settings
    from findspot.dependencies.package import Dependency as Dependency
    from findspot.documents.document_record import (
        AddedDocument as AddedDocument,
        Document as Document,
        FoundDocument as FoundDocument,
        IndexInfo as IndexInfo,
        SearchAnswer as SearchAnswer,
    )
    from findspot.documents.named_indexes import NamedIndexes as NamedIndexes
    from findspot.embed.embedder import (
        Embedder as Embedder,
        EmbedMode as EmbedMode,
    )
    from findspot.engine import Engine as Engine
    from findspot.graph import (
        Edge as Edge,
        Graph as Graph,
        Node as Node,
        Outline as Outline,
        Relation as Relation,
        Unresolved as Unresolved,
    )
    from findspot.llm import (
        Completion as Completion,
        Prompt as Prompt,
        Sample as Sample,
    )
    from findspot.package_indexes import PackageIndexes as PackageIndexes
    from findspot.project import Project as Project
    from findspot.research.findings import (
        Aim as Aim,
        Citation as Citation,
        Context as Context,
        Findings as Findings,
        Focus as Focus,
        FoundEdge as FoundEdge,
        FoundNode as FoundNode,
        Inquiry as Inquiry,
        PossiblePlace as PossiblePlace,
        Reason as Reason,
        Region as Region,
    )
    from findspot.research.task_signals import Request as Request
    from findspot.search.reader import IndexReader as IndexReader
    from findspot.serve.mcp.tools.cortex import add_cortex_search_tool as add_cortex_search_tool
    from findspot.sync.supervisor import (
        Supervisor as Supervisor,
        WatcherStatus as WatcherStatus,
    )

_MODULE_OF: dict[str, str] = {}
"""The module of each public name, read when the first one is wanted."""


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `import findspot` costs nothing."""
    if not _MODULE_OF:
        _MODULE_OF.update(_exports())
    if name == "__all__":
        return list(_MODULE_OF)
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'findspot' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value


def _exports() -> dict[str, str]:
    """Return what the imports above tell type checkers: the module of each name that is given on."""
    import ast
    from pathlib import Path

    nodes = ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.name: node.module or "" for node in imports for name in node.names if name.asname}


def __dir__() -> list[str]:
    return sorted({*globals(), *_exports()})
