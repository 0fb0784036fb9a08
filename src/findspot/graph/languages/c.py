"""C and C++: a file sees what it includes, and definitions of what headers declare."""

from __future__ import annotations

from findspot.graph.languages.language import Language, ModulesByPath

_LIBRARY = """
abort abs accept access alarm asctime assert atexit atof atoi atol bcmp bcopy bind bsearch bzero calloc ceil
chdir chmod clock close closedir connect cos dup dup2 exit exp fabs fclose fcntl fdopen feof ferror fflush
fgetc fgets fileno floor fmod fopen fork fprintf fputc fputs fread free freeaddrinfo freopen fscanf fseek
fseeko fstat fsync ftell ftello ftruncate fwrite getaddrinfo getc getchar getcwd getenv getnameinfo getopt
getpeername getpid getsockname getsockopt gettimeofday gmtime htonl htons inet_ntop inet_pton ioctl isalnum
isalpha isatty isdigit isfinite isinf islower isnan isprint isspace isupper isxdigit kill ldexp listen
localtime log log10 longjmp lseek malloc mbstowcs memchr memcmp memcpy memmove memset mkdir mktime mmap
munmap ntohl ntohs open opendir pclose perror pipe poll popen pow printf putc putchar puts qsort raise rand
random read readdir realloc recv recvfrom remove rename rewind rmdir round scanf select send sendto setbuf
setenv setjmp setlocale setsockopt setvbuf shutdown sigaction signal sin sleep snprintf socket socketpair
sprintf sqrt srand srandom sscanf stat strcasecmp strcat strchr strcmp strcpy strcspn strdup strerror
strftime strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strspn strstr strtod
strtof strtok strtok_r strtol strtoll strtoul strtoull system tan time tmpfile tolower toupper truncate
ungetc unlink usleep va_arg va_copy va_end va_start vfprintf vprintf vsnprintf vsprintf wait waitpid write
"""
_LIBRARY_NAMES = frozenset(_LIBRARY.split())


class C(Language):
    """C."""

    family = "c"
    finder = ModulesByPath
    shares = "project"
    defined_outside = True
    includes = True

    def is_library_name(self, name: str) -> bool:
        return name in _LIBRARY_NAMES


class Cpp(C):
    """C++."""

    bare_members = True
    satellites = True
