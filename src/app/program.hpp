// What main() does around a command: it reads the environment, checks the start and reports failures.
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

// The one place that reads and sets environment variables.
SlurmJob read_job();
Start read_start();         // before MPI starts
std::string search_path();  // where commands are looked for

// Of GPUs, before anything of theirs begins: a kernel that is loaded at its first use may wait for all that its
// GPU does, and that for another rank.
void have_kernels_loaded_at_start();

// The check that the processor can execute the fast kernels. It lies in app, whose objects are linked first and
// are compiled for any processor, so that it uses no code of src/kernels/cpu, not even a template's.
//
// The words of `required` that `available` lacks; both have blanks between words.
std::vector<std::string> missing_features(const std::string& required, const std::string& available);

// Throws ResourceError if a processor with the features `available` cannot execute the build's kernels; an
// empty list says nothing of the processor.
void check_features(const BuildFacts& build, const std::string& available, const std::string& host);

// The same for this machine's processor.
void check_processor(const BuildFacts& build);

// Where srun gave this process nothing to meet the others by, MPI may end it when it starts: the first of them
// says before that what to do.
void warn_of_no_meeting(const Start& start, std::ostream& out);

// The command, the version of the sources, and every option in the form that it is read in, except --run-dir
// (the checkpoint found there is compared later) and --threads (nodes may differ). `doctor` reports different
// versions itself.
std::vector<comm::Fact> start_facts(Command command);

// The value of --stall-timeout, or its default where the command has no such option.
double stall_seconds(const Command& command);

// MPI_Init waits without a limit for processes of the job that never call it: one that prints --help, or a
// command that uses no MPI. If this object still exists after ten times `stall_seconds` (a launcher may take
// long to start all processes), it says so and ends the process with exit code 3.
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

// What the program says when it cannot go on, and what it ends with.
struct Failure {
    ExitCode code = ExitCode::bug;
    std::string message;  // what happened, the numbers, what to do
};

// `without_memory` says what to do where there is none left.
Failure failure_of(const std::exception_ptr& error,
                   std::string_view without_memory = "end other programs, or use a machine with more");

// One block for standard error. `place` says who failed, as "rank 3 (node7)"; empty where nobody else could
// have.
std::string block(const Failure& failure, const std::string& place = "");

}  // namespace trireme::app
