// A file system without locks, for whoever has this loaded before it.
#include <cerrno>

extern "C" int flock(int, int) {
    errno = ENOLCK;
    return -1;
}
