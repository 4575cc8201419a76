// Runs fuzz targets without libFuzzer, so that every compiler and every ctest run checks their promises:
//   fuzz_replay TARGET CORPUS_FOLDER   the committed inputs, damaged copies of them, and random inputs
//   fuzz_replay TARGET FILE...         findings to look at again
// Inputs are the same in every run.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/target.hpp"

namespace {

namespace fs = std::filesystem;
using namespace trireme;

struct Target {
    std::string_view name;
    void (*run)(std::string_view);
    unsigned drawn_inputs = 1000;
    unsigned damaged_copies = 20;  // per committed input
};

constexpr std::array<Target, 12> targets = {{{"cluster", fuzz::cluster},
                                             {"config", fuzz::config, 300},
                                             {"corpus", fuzz::corpus, 100, 10},
                                             {"decisions", fuzz::decisions},
                                             {"jsonl", fuzz::jsonl, 2000},
                                             {"layout", fuzz::layout},
                                             {"profile", fuzz::profile},
                                             {"safetensors", fuzz::safetensors, 2000},
                                             {"schedule", fuzz::schedule},
                                             {"state", fuzz::state},
                                             {"tokenizer", fuzz::tokenizer, 2000},
                                             {"tokenizer_json", fuzz::to_tokenizer_json, 1000, 5}}};

constexpr std::size_t longest_drawn = 300;  // bytes

// Returns bytes of all values for every second seed, and mostly printable ones for the others.
std::string draw_input(unsigned seed) {
    std::mt19937 random(seed);
    std::string input(random() % longest_drawn, '\0');
    for (char& byte : input) {
        const bool is_any_byte = seed % 2 == 0 || random() % 16 == 0;
        byte = static_cast<char>(is_any_byte ? random() % 256 : ' ' + random() % 95);
    }
    return input;
}

// Exchanges some bytes, and may cut out or repeat a piece.
std::string damaged(std::string input, unsigned seed) {
    std::mt19937 random(seed);
    if (input.empty()) return input;
    for (std::size_t change = 0; change < 1 + seed % 4; ++change)
        input[random() % input.size()] =
            static_cast<char>(random() % 4 == 0 ? random() % 256 : ' ' + random() % 95);
    const std::size_t begin = random() % input.size();
    const std::size_t count = std::min<std::size_t>(random() % 40, input.size() - begin);
    if (seed % 3 == 0) input.erase(begin, count);
    if (seed % 3 == 1) input.insert(begin, input.substr(begin, count));
    return input;
}

std::string read_input(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool is_kept(const Target& target, const std::string& input, const std::string& name) {
    try {
        target.run(input);
        return true;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s (%zu bytes): %s\n", name.c_str(), input.size(), error.what());
        return false;
    }
}

int failures_in(const Target& target, const fs::path& folder) {
    int failures = 0;
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
        const std::string input = read_input(file);
        failures += !is_kept(target, input, file.string());
        for (unsigned seed = 0; seed < target.damaged_copies; ++seed)
            failures += !is_kept(target, damaged(input, seed), cat(file.string(), " damaged with seed ", seed));
    }
    for (unsigned seed = 0; seed < target.drawn_inputs; ++seed)
        failures += !is_kept(target, draw_input(seed), cat("input of seed ", seed));
    return failures;
}

}  // namespace

int main(int argc, char** argv) {
    const auto target = std::find_if(targets.begin(), targets.end(),
                                     [&](const Target& t) { return argc > 2 && t.name == argv[1]; });
    if (target == targets.end()) {
        std::fprintf(stderr, "usage: fuzz_replay TARGET FOLDER|FILE...\n");
        return 2;
    }
    int failures = 0;
    for (int i = 2; i < argc; ++i) {
        failures += fs::is_directory(argv[i]) ? failures_in(*target, argv[i])
                                              : !is_kept(*target, read_input(argv[i]), argv[i]);
    }
    return failures == 0 ? 0 : 1;
}
