// What can only be said before MPI starts.
#pragma once

#include <iosfwd>

#include "trireme/base/job.hpp"

namespace trireme::app {

// Where srun gave this process nothing to meet the others by, MPI may end it when it starts: the first of them
// says before that what to do.
void warn_of_no_meeting(const Start& start, std::ostream& out);

}  // namespace trireme::app
