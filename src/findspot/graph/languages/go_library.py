"""The interfaces of the standard library of Go, with the parameters and results of their methods."""

from __future__ import annotations

_INTERFACES = """
error Error=;string | fmt.Formatter Format=State,rune; | fmt.GoStringer GoString=;string | fmt.ScanState
Read=slice<byte>;int,error ReadRune=;rune,int,error SkipSpace=; Token=bool,func(rune;bool);slice<byte>,error
UnreadRune=;error Width=;int,bool | fmt.Scanner Scan=ScanState,rune;error | fmt.State Flag=int;bool
Precision=;int,bool Width=;int,bool Write=slice<byte>;int,error | fmt.Stringer String=;string | flag.Getter
Get=;any Set=string;error String=;string | flag.Value Set=string;error String=;string | io.ByteReader
ReadByte=;byte,error | io.ByteScanner ReadByte=;byte,error UnreadByte=;error | io.ByteWriter
WriteByte=byte;error | io.Closer Close=;error | io.ReadCloser Close=;error Read=slice<byte>;int,error |
io.ReadSeekCloser Close=;error Read=slice<byte>;int,error Seek=int64,int;int64,error | io.ReadSeeker
Read=slice<byte>;int,error Seek=int64,int;int64,error | io.ReadWriteCloser Close=;error
Read=slice<byte>;int,error Write=slice<byte>;int,error | io.ReadWriteSeeker Read=slice<byte>;int,error
Seek=int64,int;int64,error Write=slice<byte>;int,error | io.ReadWriter Read=slice<byte>;int,error
Write=slice<byte>;int,error | io.Reader Read=slice<byte>;int,error | io.ReaderAt
ReadAt=slice<byte>,int64;int,error | io.ReaderFrom ReadFrom=Reader;int64,error | io.RuneReader
ReadRune=;rune,int,error | io.RuneScanner ReadRune=;rune,int,error UnreadRune=;error | io.Seeker
Seek=int64,int;int64,error | io.StringWriter WriteString=string;int,error | io.WriteCloser Close=;error
Write=slice<byte>;int,error | io.WriteSeeker Seek=int64,int;int64,error Write=slice<byte>;int,error |
io.Writer Write=slice<byte>;int,error | io.WriterAt WriteAt=slice<byte>,int64;int,error | io.WriterTo
WriteTo=Writer;int64,error | fs.DirEntry Info=;FileInfo,error IsDir=;bool Name=;string Type=;FileMode |
fs.FS Open=string;File,error | fs.File Close=;error Read=slice<byte>;int,error Stat=;FileInfo,error |
fs.FileInfo IsDir=;bool ModTime=;Time Mode=;FileMode Name=;string Size=;int64 Sys=;any | fs.GlobFS
Glob=string;slice<string>,error Open=string;File,error | fs.ReadDirFS Open=string;File,error
ReadDir=string;slice<DirEntry>,error | fs.ReadDirFile Close=;error Read=slice<byte>;int,error
ReadDir=int;slice<DirEntry>,error Stat=;FileInfo,error | fs.ReadFileFS Open=string;File,error
ReadFile=string;slice<byte>,error | fs.ReadLinkFS Lstat=string;FileInfo,error Open=string;File,error
ReadLink=string;string,error | fs.StatFS Open=string;File,error Stat=string;FileInfo,error | fs.SubFS
Open=string;File,error Sub=string;FS,error | sort.Interface Len=;int Less=int,int;bool Swap=int,int; |
heap.Interface Len=;int Less=int,int;bool Pop=;any Push=any; Swap=int,int; | sync.Locker Lock=; Unlock=; |
context.Context Deadline=;Time,bool Done=;channel<?> Err=;error Value=any;any | hash.Cloner BlockSize=;int
Clone=;Cloner,error Reset=; Size=;int Sum=slice<byte>;slice<byte> Write=slice<byte>;int,error | hash.Hash
BlockSize=;int Reset=; Size=;int Sum=slice<byte>;slice<byte> Write=slice<byte>;int,error | hash.Hash32
BlockSize=;int Reset=; Size=;int Sum=slice<byte>;slice<byte> Sum32=;uint32 Write=slice<byte>;int,error |
hash.Hash64 BlockSize=;int Reset=; Size=;int Sum=slice<byte>;slice<byte> Sum64=;uint64
Write=slice<byte>;int,error | hash.XOF BlockSize=;int Read=slice<byte>;int,error Reset=;
Write=slice<byte>;int,error | net.Addr Network=;string String=;string | net.Conn Close=;error
LocalAddr=;Addr Read=slice<byte>;int,error RemoteAddr=;Addr SetDeadline=Time;error
SetReadDeadline=Time;error SetWriteDeadline=Time;error Write=slice<byte>;int,error | net.Error Error=;string
Temporary=;bool Timeout=;bool | net.Listener Accept=;Conn,error Addr=;Addr Close=;error | net.PacketConn
Close=;error LocalAddr=;Addr ReadFrom=slice<byte>;int,Addr,error SetDeadline=Time;error
SetReadDeadline=Time;error SetWriteDeadline=Time;error WriteTo=slice<byte>,Addr;int,error |
http.CloseNotifier CloseNotify=;channel<bool> | http.CookieJar Cookies=pointer<URL>;slice<pointer<Cookie>>
SetCookies=pointer<URL>,slice<pointer<Cookie>>; | http.File Close=;error Read=slice<byte>;int,error
Readdir=int;slice<FileInfo>,error Seek=int64,int;int64,error Stat=;FileInfo,error | http.FileSystem
Open=string;File,error | http.Flusher Flush=; | http.Handler ServeHTTP=ResponseWriter,pointer<Request>; |
http.Hijacker Hijack=;Conn,pointer<ReadWriter>,error | http.Pusher Push=string,pointer<PushOptions>;error |
http.ResponseWriter Header=;Header Write=slice<byte>;int,error WriteHeader=int; | http.RoundTripper
RoundTrip=pointer<Request>;pointer<Response>,error | encoding.BinaryAppender
AppendBinary=slice<byte>;slice<byte>,error | encoding.BinaryMarshaler MarshalBinary=;slice<byte>,error |
encoding.BinaryUnmarshaler UnmarshalBinary=slice<byte>;error | encoding.TextAppender
AppendText=slice<byte>;slice<byte>,error | encoding.TextMarshaler MarshalText=;slice<byte>,error |
encoding.TextUnmarshaler UnmarshalText=slice<byte>;error | json.Marshaler MarshalJSON=;slice<byte>,error |
json.Options JSONOptions=NotForPublicUse; | json.Unmarshaler UnmarshalJSON=slice<byte>;error | sql.Result
LastInsertId=;int64,error RowsAffected=;int64,error | sql.Scanner Scan=any;error | driver.Conn
Begin=;Tx,error Close=;error Prepare=string;Stmt,error | driver.Driver Open=string;Conn,error | driver.Rows
Close=;error Columns=;slice<string> Next=slice<Value>;error | driver.Stmt Close=;error
Exec=slice<Value>;Result,error NumInput=;int Query=slice<Value>;Rows,error | driver.Tx Commit=;error
Rollback=;error | driver.Valuer Value=;Value,error | slog.Handler Enabled=Context,Level;bool
Handle=Context,Record;error WithAttrs=slice<Attr>;Handler WithGroup=string;Handler | slog.Leveler
Level=;Level | slog.LogValuer LogValue=;Value | os.DirEntry Info=;FileInfo,error IsDir=;bool Name=;string
Type=;FileMode | os.FileInfo IsDir=;bool ModTime=;Time Mode=;FileMode Name=;string Size=;int64 Sys=;any |
os.Signal Signal=; String=;string | os.FileInfo IsDir=;bool ModTime=;Time Mode=;FileMode Name=;string
Size=;int64 Sys=;any
"""


def _methods(row: str) -> dict[str, str]:
    """Return the parameters and results of each method, written as `chunk.go_expressions.signature` does."""
    return dict(method.split("=", 1) for method in row.split()[1:])


STANDARD_INTERFACES = {row.split()[0]: _methods(row) for row in _INTERFACES.split("|")}
