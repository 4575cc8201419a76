// A folder of a test's own, with a small corpus to spoil.
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
    static std::vector<std::string> words(const std::string& line);  // what blanks part
    void write(const std::string& name, const std::string& content) const;
    std::string read(const std::string& name) const;
    Outcome run(const std::string& line, int ranks = 0,
                std::size_t mpi = 0) const;  // words with blanks between
    Outcome run(const std::vector<std::string>& words, int ranks, std::size_t mpi) const;

    Outcome run_ranks(const std::vector<std::string>& commands, std::size_t mpi) const;

    // Twenty synthetic rows as bytes: vocabulary 257, in corpus.h5.
    void make_corpus() const;
    // `train` on that corpus for two steps, complete but for `options`.
    Outcome train(const std::string& options, int ranks = 0, std::size_t mpi = 0) const;

    // Every file and folder with its size: equal before and after where nothing was written.
    std::map<std::string, std::uintmax_t> content() const;

    // Of each step that a run directory has on record, "3 4.1729" with all digits.
    std::vector<std::string> losses_of(const std::string& run_dir) const;

    // Runs `line`, which must end with 2, print nothing, write nothing, and say one sentence with all `parts`.
    void expect_refusal(const std::string& line, const std::vector<std::string>& parts, int ranks = 0) const;
    void expect_train_refusal(const std::string& options, const std::vector<std::string>& parts,
                              int ranks = 0) const;

private:
    std::filesystem::path folder_;
};

}  // namespace trireme::messages
