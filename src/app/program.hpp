// Functions of main() that read the environment, check the start of the program, and report failures.
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
#include "trireme/setup/start_agreement.hpp"

namespace trireme::app {

// environment.cpp implements these functions. It alone reads and sets environment variables.
SlurmJob read_job();
ProcessStart read_start();       // called before MPI starts, because MPI libraries add variables
std::string read_search_path();  // PATH

// Makes CUDA load all kernels when it starts, unless the user has set another mode. Must be called before CUDA
// is used. By default, CUDA loads a kernel at its first launch. This may wait for all work of the GPU, which
// may in turn wait for another rank.
void load_kernels_eagerly();

// The following functions check that the processor can execute the fast kernels. The functions themselves must
// run on any x86-64 processor. Therefore they are in app, whose objects are compiled for any such processor and
// are linked first: of several copies of a template, the linker keeps the first. The functions must not use
// code of src/kernels/cpu, not even a template.
//
// Returns the features in `required` that `available` lacks. Both are lists of names, separated by blanks,
// for example "avx2 fma".
std::vector<std::string> list_missing_features(const std::string& required, const std::string& available);

// Throws ResourceError if a processor with the features `available` cannot execute the build's kernels. Accepts
// an empty list, which means that the features are unknown.
void check_features(const BuildFacts& build, const std::string& available, const std::string& host);

// Calls check_features() for this host's processor.
void check_processor(const BuildFacts& build);

// Called before MPI starts. If srun offers neither PMIx nor PMI, MPI_Init may end the process; for that case
// the first process writes advice to `out`.
void warn_without_pmi(const ProcessStart& start, std::ostream& out);

// Returns the settings that must be equal on all ranks: the command, the version of the sources, and all
// options. Exceptions are --run-dir (its checkpoint is compared later), --threads (nodes may differ), and the
// version with `doctor`, which reports different versions itself.
std::vector<comm::CommonSetting> list_common_settings(Command command);

// Returns the value of --stall-timeout, or its default if the command has no such option.
double find_stall_seconds(const Command& command);

// A time limit for MPI_Init, which waits forever if a process of the job never calls it, for example because
// that process only prints --help. If this object still exists after ten times `stall_seconds`, it reports the
// failure and ends the process with exit code 3. The limit is long because a launcher may start processes
// slowly.
class MpiStartWatch {
public:
    explicit MpiStartWatch(double stall_seconds);
    ~MpiStartWatch();
    MpiStartWatch(const MpiStartWatch&) = delete;
    MpiStartWatch& operator=(const MpiStartWatch&) = delete;

private:
    std::promise<void> mpi_start_;
    std::thread observer_;
};

// The message and exit code with which the program ends if it cannot continue.
struct Failure {
    ExitCode code = ExitCode::bug;
    std::string message;  // what happened, the numbers, what to do
};

// Converts an exception to a failure. `memory_advice` says what to do if memory is exhausted (std::bad_alloc).
Failure describe_failure(
    const std::exception_ptr& error,
    std::string_view memory_advice = "end other programs, or use a machine with more memory");

// Formats a failure as one block of lines for standard error. `process` names the process that failed, such as
// "rank 3 (node7)"; empty if there is only one process.
std::string format_failure(const Failure& failure, const std::string& process = "");

}  // namespace trireme::app
