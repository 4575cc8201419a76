#include "messages/program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace trireme::messages {
namespace {

namespace fs = std::filesystem;

// Splits "first|second", which has one part per MPI library.
std::vector<std::string> split(const std::string& joined) {
    std::istringstream in(joined);
    std::vector<std::string> parts;
    for (std::string part; std::getline(in, part, '|');) parts.push_back(part);
    return parts;
}

void add_words(std::vector<std::string>& words, const std::string& line) {
    std::istringstream in(line);
    words.insert(words.end(), std::istream_iterator<std::string>(in), {});
}

// Without a launcher a single rank uses MPICH if it was built, because Open MPI starts a daemon for it. That
// takes longer than most of these runs.
std::size_t library_of_one_rank() { return mpi_libraries() > 1 ? 1 : 0; }

// TRIREME_LAUNCHERS has "env NAME=VALUE ... mpiexec -n" as found by CMake; the number of ranks follows.
std::vector<std::string> command_words(const std::vector<std::string>& arguments, int ranks, std::size_t mpi) {
    std::vector<std::string> words;
    if (ranks > 0) {
        add_words(words, split(TRIREME_LAUNCHERS).at(mpi % programs()));
        words.push_back(std::to_string(ranks));
    }
    words.push_back(program_path(ranks == 0 && mpi == 0 ? library_of_one_rank() : mpi));
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
}

void send_to(int descriptor, const fs::path& path) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, descriptor);
    ::close(file);
}

// The name is short, because names of sockets in the folder are limited to about a hundred characters.
fs::path temporary_folder(const fs::path& folder) { return folder.string() + ".tmp"; }

// Replaces the child process by the program; exits with 127 on failure, as a shell does. Temporary files go to
// a folder per test: Open MPI jobs of one user share a folder by default, and a job that starts may fail while
// another one removes it.
[[noreturn]] void exec_program(std::vector<std::string> words, const fs::path& folder) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    send_to(STDOUT_FILENO, folder.string() + ".out");
    send_to(STDERR_FILENO, folder.string() + ".err");
    ::setenv("TMPDIR", temporary_folder(folder).c_str(), 1);
    if (::chdir(folder.c_str()) == 0) ::execvp(arguments.front(), arguments.data());
    ::_exit(127);
}

std::string taken(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    fs::remove(path);
    return text;
}

Outcome outcome_of(const std::vector<std::string>& words, const fs::path& folder) {
    fs::create_directory(temporary_folder(folder));
    const pid_t child = ::fork();
    if (child == 0) exec_program(words, folder);
    int status = 0;
    ::waitpid(child, &status, 0);
    Outcome outcome{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                    .out = taken(folder.string() + ".out"),
                    .err = taken(folder.string() + ".err")};
    // Errors are ignored, because Open MPI's daemon may be removing the same files. It outlives a program
    // without a launcher and a job that was killed.
    std::error_code ignored;
    fs::remove_all(temporary_folder(folder), ignored);
    return outcome;
}

}  // namespace

std::string program_path(std::size_t mpi) {
    const std::size_t others = programs();
    return mpi < others ? split(TRIREME_PROGRAMS).at(mpi) : split(TRIREME_GPU_PROGRAMS).at(mpi - others);
}

std::size_t on_emulated_gpu(std::size_t mpi) { return programs() + mpi; }

std::size_t programs() { return split(TRIREME_PROGRAMS).size(); }

std::size_t mpi_libraries() { return programs() - TRIREME_SIMULATORS; }

std::vector<std::size_t> programs_for(int ranks) {
    constexpr std::size_t mpich = 1;  // if Open MPI is the first
    std::vector<std::size_t> numbers;
    for (std::size_t mpi = 0; mpi < programs(); ++mpi) {
        const bool is_mpich = mpi == mpich && mpi < mpi_libraries();
        if (!is_mpich || ranks <= 3 || TRIREME_ALL_SIZES) numbers.push_back(mpi);
    }
    return numbers;
}

Outcome run_program(const fs::path& folder, const std::vector<std::string>& arguments, int ranks,
                    std::size_t mpi) {
    return outcome_of(command_words(arguments, ranks, mpi), folder);
}

Outcome run_ranks(const fs::path& folder, const std::vector<std::string>& commands, std::size_t mpi) {
    std::vector<std::string> words;
    add_words(words, split(TRIREME_LAUNCHERS).at(mpi));
    for (const std::string& command : commands) {
        add_words(words, &command == &commands.front() ? "1" : ": -n 1");
        add_words(words, command);
    }
    return outcome_of(words, folder);
}

std::vector<std::string> sentences(const Outcome& outcome) {
    std::vector<std::string> found;
    std::istringstream in(outcome.err);
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("trireme: ", 0) == 0) found.push_back(line);
    }
    return found;
}

}  // namespace trireme::messages
