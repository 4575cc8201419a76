// Preloaded into a program, makes flock() fail as on a file system without locks.
#include <cerrno>

extern "C" int flock(int, int) {
    errno = ENOLCK;
    return -1;
}
