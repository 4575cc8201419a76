// Runs the real program as a user does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::messages {

struct Outcome {
    int code = -1;  // 128 + n if killed by signal n
    std::string out;
    std::string err;
};

// Number of MPI libraries that the program was built with. MPI library numbers below mpi_libraries() are these;
// if programs() is larger, the last number is the simulator, which does not run without its launcher.
std::size_t mpi_libraries();
std::size_t programs();
// Returns the MPI library numbers under which a test of `ranks` ranks runs. MPICH's ranks keep a core busy
// while they wait, so more than three of them run only with TRIREME_ALL_SIZES, or if MPICH is the only library.
std::vector<std::size_t> programs_for(int ranks);
std::string program_path(std::size_t mpi = 0);
// Returns the number of the program whose ranks share an emulated GPU under MPI library `mpi`.
std::size_t on_emulated_gpu(std::size_t mpi = 0);

// Runs `trireme <arguments>` in `folder`, without a launcher or with `ranks` ranks under mpiexec, built with
// MPI library number `mpi`. Its output is collected in files next to `folder`.
Outcome run_program(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                    int ranks = 0, std::size_t mpi = 0);

// As above, with one command per rank, which names the program; words are separated by blanks.
Outcome run_ranks(const std::filesystem::path& folder, const std::vector<std::string>& commands,
                  std::size_t mpi);

// Returns the program's own lines of standard error; mpiexec adds others.
std::vector<std::string> sentences(const Outcome& outcome);

}  // namespace trireme::messages
