// Helpers of main(): reading the environment, checking the start and reporting failures.
#pragma once

#include <exception>
#include <future>
#include <iosfwd>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/command.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/job.hpp"
#include "trireme/base/version.hpp"
#include "trireme/setup/agreed_start.hpp"

namespace trireme::app {

// environment.cpp implements these functions. It alone reads and sets environment variables.
SlurmJob read_job();
Start read_start();         // call it before MPI starts, which adds variables
std::string search_path();  // PATH

// Makes CUDA load all kernels at its start; must be called before CUDA is used. A kernel that is loaded at its
// first use may wait for all work of its GPU, which may wait for another rank.
void have_kernels_loaded_at_start();

// These functions check that the processor can execute the fast kernels.
// They are in app, because its objects are linked first and compiled for any
// processor. They must use no code of src/kernels/cpu, not even a template.
//
// Returns the words of `required` that `available` lacks; both are separated by blanks.
std::vector<std::string> missing_features(const std::string& required, const std::string& available);

// Throws ResourceError if a processor with the features `available` cannot execute the build's kernels. Accepts
// an empty list, which means that the features are unknown.
void check_features(const BuildFacts& build, const std::string& available, const std::string& host);

// Calls check_features() for this host's processor.
void check_processor(const BuildFacts& build);

// If srun offers neither PMIx nor PMI, MPI_Init may end the process. The first process then writes advice to
// `out`; call it before MPI starts.
void warn_of_no_meeting(const Start& start, std::ostream& out);

// Returns what must be equal on all ranks: the command, the version of the sources, and all options in the form
// in which they are read. Exceptions are --run-dir (its checkpoint is compared later) and --threads (nodes may
// differ). `doctor` reports different versions itself.
std::vector<comm::Fact> start_facts(Command command);

// Value of --stall-timeout, or its default if the command has no such option.
double stall_seconds(const Command& command);

// Time limit of MPI_Init, which waits forever for processes that never call it: one that prints --help, or a
// command that uses no MPI. If this object still exists after ten times `stall_seconds`, it reports that and
// ends the process with exit code 3. The limit is long because a launcher may start processes slowly.
class StartWatch {
public:
    explicit StartWatch(double stall_seconds);
    ~StartWatch();
    StartWatch(const StartWatch&) = delete;
    StartWatch& operator=(const StartWatch&) = delete;

private:
    std::promise<void> has_started_;
    std::thread observer_;
};

// The message and exit code with which the program ends if it cannot continue.
struct Failure {
    ExitCode code = ExitCode::bug;
    std::string message;  // what happened, the numbers, what to do
};

// Converts an exception to a failure. `without_memory` is the advice for std::bad_alloc.
Failure failure_of(const std::exception_ptr& error,
                   std::string_view without_memory = "end other programs, or use a machine with more");

// Formats a failure as one block for standard error. `place` names the process that failed, such as
// "rank 3 (node7)"; empty if there is only one.
std::string block(const Failure& failure, const std::string& place = "");

}  // namespace trireme::app
