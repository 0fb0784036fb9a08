"""Go: a package is a folder, a type conforms to an interface by having its methods."""

from __future__ import annotations

import posixpath
import re

from findspot.core.facts import ImportFact
from findspot.graph.languages.language import Language, ModuleFinder

_SYSTEM = re.compile(
    r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|netbsd|openbsd|plan9|solaris|wasip1|windows)"
    r"(?:_\w+)?\.go\Z|_(?:386|arm|mips\w*|ppc64\w*|riscv64|s390x|wasm)(?:_test)?\.go\Z"
)
"""Names of files that only some systems build."""
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)


class GoModules(ModuleFinder):
    """Finds the folder of a package: below the module that `go.mod` names, or by how its path ends."""

    def folder(self, path: str, fact: ImportFact) -> str | None:
        for module, folder in self._modules:
            if fact.module == module or fact.module.startswith(f"{module}/"):
                below = posixpath.join(folder, fact.module[len(module) + 1 :]).rstrip("/")
                return below if below in self._folders else None
        return None if self._modules else self._ending(fact.module)

    def _ending(self, module: str) -> str | None:
        """Return the longest folder that a path ends in, of a project without `go.mod`."""
        parts = module.split("/")
        tails = ("/".join(parts[start:]) for start in range(len(parts)))
        return next((tail for tail in tails if tail in self._folders), None)

    def files_in(self, folder: str) -> tuple[str, ...]:
        return self._folders.get(folder, ())

    @property
    def _folders(self) -> dict[str, tuple[str, ...]]:
        return self.project.once("go_folders", self._find_folders)

    def _find_folders(self) -> dict[str, tuple[str, ...]]:
        """Return the folders that have Go files, each with those that are no tests."""
        found: dict[str, tuple[str, ...]] = {}
        for folder, paths in self.project.by_folder.items():
            if files := sorted(path for path in paths if path.endswith(".go")):
                found[folder] = tuple(path for path in files if not path.endswith("_test.go"))
        return found

    @property
    def _modules(self) -> list[tuple[str, str]]:
        return self.project.once("go_modules", self._find_modules)

    def _find_modules(self) -> list[tuple[str, str]]:
        """Return the path and folder of each module, longest path first."""
        found = []
        for path in self.paths:
            if posixpath.basename(path) == "go.mod":
                name = _MODULE.search(self.project.text(path))
                if name is not None:
                    found.append((name[1], posixpath.dirname(path)))
        return sorted(found, key=lambda item: (-len(item[0]), item))


_INTERFACES = """
error Error=;string | fmt.Formatter Format=fmt.State,rune; | fmt.GoStringer GoString=;string | fmt.ScanState
Read=slice<byte>;int,error ReadRune=;rune,int,error SkipSpace=; Token=bool,func(rune;bool);slice<byte>,error
UnreadRune=;error Width=;int,bool | fmt.Scanner Scan=fmt.ScanState,rune;error | fmt.State Flag=int;bool
Precision=;int,bool Width=;int,bool Write=slice<byte>;int,error | fmt.Stringer String=;string | flag.Getter
Get=;any Set=string;error String=;string | flag.Value Set=string;error String=;string | io.ByteReader
ReadByte=;byte,error | io.ByteScanner ReadByte=;byte,error UnreadByte=;error | io.ByteWriter
WriteByte=byte;error | io.Closer Close=;error | io.ReadCloser Close=;error Read=slice<byte>;int,error |
io.ReadSeekCloser Close=;error Read=slice<byte>;int,error Seek=int64,int;int64,error | io.ReadSeeker
Read=slice<byte>;int,error Seek=int64,int;int64,error | io.ReadWriteCloser Close=;error
Read=slice<byte>;int,error Write=slice<byte>;int,error | io.ReadWriteSeeker Read=slice<byte>;int,error
Seek=int64,int;int64,error Write=slice<byte>;int,error | io.ReadWriter Read=slice<byte>;int,error
Write=slice<byte>;int,error | io.Reader Read=slice<byte>;int,error | io.ReaderAt
ReadAt=slice<byte>,int64;int,error | io.ReaderFrom ReadFrom=io.Reader;int64,error | io.RuneReader
ReadRune=;rune,int,error | io.RuneScanner ReadRune=;rune,int,error UnreadRune=;error | io.Seeker
Seek=int64,int;int64,error | io.StringWriter WriteString=string;int,error | io.WriteCloser Close=;error
Write=slice<byte>;int,error | io.WriteSeeker Seek=int64,int;int64,error Write=slice<byte>;int,error |
io.Writer Write=slice<byte>;int,error | io.WriterAt WriteAt=slice<byte>,int64;int,error | io.WriterTo
WriteTo=io.Writer;int64,error | fs.DirEntry Info=;fs.FileInfo,error IsDir=;bool Name=;string
Type=;fs.FileMode | fs.FS Open=string;fs.File,error | fs.File Close=;error Read=slice<byte>;int,error
Stat=;fs.FileInfo,error | fs.FileInfo IsDir=;bool ModTime=;time.Time Mode=;fs.FileMode Name=;string
Size=;int64 Sys=;any | fs.GlobFS Glob=string;slice<string>,error Open=string;fs.File,error | fs.ReadDirFS
Open=string;fs.File,error ReadDir=string;slice<fs.DirEntry>,error | fs.ReadDirFile Close=;error
Read=slice<byte>;int,error ReadDir=int;slice<fs.DirEntry>,error Stat=;fs.FileInfo,error | fs.ReadFileFS
Open=string;fs.File,error ReadFile=string;slice<byte>,error | fs.ReadLinkFS Lstat=string;fs.FileInfo,error
Open=string;fs.File,error ReadLink=string;string,error | fs.StatFS Open=string;fs.File,error
Stat=string;fs.FileInfo,error | fs.SubFS Open=string;fs.File,error Sub=string;fs.FS,error | sort.Interface
Len=;int Less=int,int;bool Swap=int,int; | heap.Interface Len=;int Less=int,int;bool Pop=;any Push=any;
Swap=int,int; | sync.Locker Lock=; Unlock=; | context.Context Deadline=;time.Time,bool
Done=;channel<struct<{}>>
Err=;error Value=any;any | hash.Cloner BlockSize=;int Clone=;hash.Cloner,error Reset=; Size=;int
Sum=slice<byte>;slice<byte> Write=slice<byte>;int,error | hash.Hash BlockSize=;int Reset=; Size=;int
Sum=slice<byte>;slice<byte> Write=slice<byte>;int,error | hash.Hash32 BlockSize=;int Reset=; Size=;int
Sum=slice<byte>;slice<byte> Sum32=;uint32 Write=slice<byte>;int,error | hash.Hash64 BlockSize=;int Reset=;
Size=;int Sum=slice<byte>;slice<byte> Sum64=;uint64 Write=slice<byte>;int,error | hash.XOF BlockSize=;int
Read=slice<byte>;int,error Reset=; Write=slice<byte>;int,error | net.Addr Network=;string String=;string |
net.Conn Close=;error LocalAddr=;net.Addr Read=slice<byte>;int,error RemoteAddr=;net.Addr
SetDeadline=time.Time;error SetReadDeadline=time.Time;error SetWriteDeadline=time.Time;error
Write=slice<byte>;int,error | net.Error Error=;string Temporary=;bool Timeout=;bool | net.Listener
Accept=;net.Conn,error Addr=;net.Addr Close=;error | net.PacketConn Close=;error LocalAddr=;net.Addr
ReadFrom=slice<byte>;int,net.Addr,error SetDeadline=time.Time;error SetReadDeadline=time.Time;error
SetWriteDeadline=time.Time;error WriteTo=slice<byte>,net.Addr;int,error | http.CloseNotifier
CloseNotify=;channel<bool> | http.CookieJar Cookies=pointer<url.URL>;slice<pointer<http.Cookie>>
SetCookies=pointer<url.URL>,slice<pointer<http.Cookie>>; | http.File Close=;error Read=slice<byte>;int,error
Readdir=int;slice<fs.FileInfo>,error Seek=int64,int;int64,error Stat=;fs.FileInfo,error | http.FileSystem
Open=string;http.File,error | http.Flusher Flush=; | http.Handler
ServeHTTP=http.ResponseWriter,pointer<http.Request>; | http.Hijacker
Hijack=;net.Conn,pointer<bufio.ReadWriter>,error | http.Pusher Push=string,pointer<http.PushOptions>;error |
http.ResponseWriter Header=;http.Header Write=slice<byte>;int,error WriteHeader=int; | http.RoundTripper
RoundTrip=pointer<http.Request>;pointer<http.Response>,error | encoding.BinaryAppender
AppendBinary=slice<byte>;slice<byte>,error | encoding.BinaryMarshaler MarshalBinary=;slice<byte>,error |
encoding.BinaryUnmarshaler UnmarshalBinary=slice<byte>;error | encoding.TextAppender
AppendText=slice<byte>;slice<byte>,error | encoding.TextMarshaler MarshalText=;slice<byte>,error |
encoding.TextUnmarshaler UnmarshalText=slice<byte>;error | json.Marshaler MarshalJSON=;slice<byte>,error |
json.Options JSONOptions=internal.NotForPublicUse; | json.Unmarshaler UnmarshalJSON=slice<byte>;error |
sql.Result LastInsertId=;int64,error RowsAffected=;int64,error | sql.Scanner Scan=any;error | driver.Conn
Begin=;driver.Tx,error Close=;error Prepare=string;driver.Stmt,error | driver.Driver
Open=string;driver.Conn,error | driver.Rows Close=;error Columns=;slice<string>
Next=slice<driver.Value>;error | driver.Stmt Close=;error Exec=slice<driver.Value>;driver.Result,error
NumInput=;int Query=slice<driver.Value>;driver.Rows,error | driver.Tx Commit=;error Rollback=;error |
driver.Valuer Value=;driver.Value,error | slog.Handler Enabled=context.Context,slog.Level;bool
Handle=context.Context,slog.Record;error WithAttrs=slice<slog.Attr>;slog.Handler
WithGroup=string;slog.Handler | slog.Leveler Level=;slog.Level | slog.LogValuer LogValue=;slog.Value |
os.DirEntry Info=;fs.FileInfo,error IsDir=;bool Name=;string Type=;fs.FileMode | os.FileInfo IsDir=;bool
ModTime=;time.Time Mode=;fs.FileMode Name=;string Size=;int64 Sys=;any | os.Signal Signal=; String=;string |
os.FileInfo IsDir=;bool ModTime=;time.Time Mode=;fs.FileMode Name=;string Size=;int64 Sys=;any
"""


def _methods(row: str) -> dict[str, str]:
    """Return the parameters and results of each method, written as `chunk.go_expressions` does."""
    return dict(method.split("=", 1) for method in row.split()[1:])


STANDARD_INTERFACES = {row.split()[0]: _methods(row) for row in _INTERFACES.split("|")}


class Go(Language):
    """Go."""

    family = "go"
    finder = GoModules
    shares = "folder"
    satellites = True
    imports_whole_packages = True
    folders_are_packages = True
    structural_interfaces = True
    constructors_have_type_names = False
    common_methods = frozenset(name for methods in STANDARD_INTERFACES.values() for name in methods)

    def is_variant(self, path: str) -> bool:
        return _SYSTEM.search(path) is not None
