// How many communicators and MPI groups the program has made and not freed. Counted by standing before the MPI
// library, through its profiling interface.
#pragma once

namespace trireme::comm {

int live_handles();

}  // namespace trireme::comm
