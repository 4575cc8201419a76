#include "messages/workplace.hpp"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace trireme::messages {
namespace {

namespace fs = std::filesystem;

const std::string base_line =
    "train --corpus corpus.h5 --steps 2 --batch 4 --layers 1 --width 16 --heads 2 --device reference --threads "
    "1 ";

}  // namespace

Workplace::Workplace() {
    std::string name = (fs::temp_directory_path() / "trireme-messages-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw fs::filesystem_error("mkdtemp", name, {errno, std::generic_category()});
    folder_ = name;
}

Workplace::~Workplace() { fs::remove_all(folder_); }

void Workplace::write(const std::string& name, const std::string& content) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
}

std::string Workplace::read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> Workplace::words(const std::string& line) {
    std::istringstream in(line);
    return {std::istream_iterator<std::string>(in), {}};
}

Outcome Workplace::run(const std::string& line, int ranks, std::size_t mpi) const {
    return run(words(line), ranks, mpi);
}

Outcome Workplace::run(const std::vector<std::string>& words, int ranks, std::size_t mpi) const {
    return run_program(folder_, words, ranks, mpi);
}

Outcome Workplace::run_ranks(const std::vector<std::string>& commands, std::size_t mpi) const {
    return messages::run_ranks(folder_, commands, mpi);
}

void Workplace::make_corpus() const {
    const Outcome outcome = run("prepare --synthetic csn --count 20 --quiet --output corpus.h5");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
}

Outcome Workplace::train(const std::string& options, int ranks, std::size_t mpi) const {
    return run(base_line + options, ranks, mpi);
}

std::vector<std::string> Workplace::losses_of(const std::string& run_dir) const {
    const std::string text = read(run_dir + "/steps.jsonl");
    const std::regex line("\"step\":([0-9]+),\"loss\":([^,]+),");
    std::vector<std::string> losses;
    for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at)
        losses.push_back((*at)[1].str() + ' ' + (*at)[2].str());
    return losses;
}

std::map<std::string, std::uintmax_t> Workplace::content() const {
    std::map<std::string, std::uintmax_t> found;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_)) {
        found[entry.path().string()] = entry.is_regular_file() ? entry.file_size() : 0;
    }
    return found;
}

void Workplace::expect_refusal(const std::string& line, const std::vector<std::string>& parts,
                               int ranks) const {
    const auto before = content();

    const Outcome outcome = run(line, ranks);

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(content(), before);
    const std::vector<std::string> reported = sentences(outcome);
    ASSERT_EQ(reported.size(), 1U) << outcome.err;
    for (const std::string& part : parts) {
        EXPECT_NE(reported.front().find(part), std::string::npos) << part << " is not in: " << reported.front();
    }
    if (ranks == 0) {
        EXPECT_EQ(outcome.err, reported.front() + "\n");
    }
}

void Workplace::expect_train_refusal(const std::string& options, const std::vector<std::string>& parts,
                                     int ranks) const {
    expect_refusal(base_line + options, parts, ranks);
}

}  // namespace trireme::messages
