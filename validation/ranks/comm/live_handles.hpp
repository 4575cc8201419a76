// Number of communicators and MPI groups that the program has created and not freed, counted through the MPI
// profiling interface.
#pragma once

namespace trireme::comm {

int live_handles();

}  // namespace trireme::comm
