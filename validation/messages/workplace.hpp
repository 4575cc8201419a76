// A temporary folder per test, with functions that run the program in it and make a small corpus.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "messages/program.hpp"

namespace trireme::messages {

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class Workplace : public testing::Test {
protected:
    Workplace();
    ~Workplace() override;

    std::filesystem::path path(const std::string& name) const { return folder_ / name; }
    static std::vector<std::string> words(const std::string& line);  // splits a line at blanks
    void write(const std::string& name, const std::string& content) const;
    std::string read(const std::string& name) const;
    Outcome run(const std::string& line, int ranks = 0,
                std::size_t mpi = 0) const;  // words are separated by blanks
    Outcome run(const std::vector<std::string>& words, int ranks, std::size_t mpi) const;

    // Runs one rank per command, which names the program.
    Outcome run_ranks(const std::vector<std::string>& commands, std::size_t mpi) const;

    // Makes corpus.h5 with twenty synthetic rows as bytes: vocabulary 257.
    void make_corpus() const;
    // Runs `train` on that corpus for two steps. `options` are added to a complete command line.
    Outcome train(const std::string& options, int ranks = 0, std::size_t mpi = 0) const;

    // Returns all files and folders with their sizes, to show that a command wrote nothing.
    std::map<std::string, std::uintmax_t> content() const;

    // Returns "3 4.1729" per recorded step of a run directory, with all digits.
    std::vector<std::string> losses_of(const std::string& run_dir) const;

    // Runs `line` and expects exit code 2, no output, no new file, and one sentence that contains all `parts`.
    void expect_refusal(const std::string& line, const std::vector<std::string>& parts, int ranks = 0) const;
    void expect_train_refusal(const std::string& options, const std::vector<std::string>& parts,
                              int ranks = 0) const;

private:
    std::filesystem::path folder_;
};

}  // namespace trireme::messages
