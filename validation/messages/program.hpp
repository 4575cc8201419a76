// The real program, run as a user runs it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::messages {

struct Outcome {
    int code = -1;  // 128 + n: killed by signal n
    std::string out;
    std::string err;
};

// Runs `trireme <arguments>` in `folder`, alone or with `ranks` ranks under mpiexec. Its words are gathered in
// files beside `folder`.
Outcome run_program(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                    int ranks = 0);

// The sentences among what it said on standard error: mpiexec adds words of its own.
std::vector<std::string> sentences(const Outcome& outcome);

}  // namespace trireme::messages
