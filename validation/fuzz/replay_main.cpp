// Runs a fuzz target without libFuzzer, so that every compiler and every ctest run has its promises checked: on
// the files named on the command line (findings to look at again), or on inputs that are the same everywhere.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr unsigned drawn_inputs = 2000;
constexpr std::size_t longest_input = 300;

// Every second input is bytes of all values, the others are mostly printable.
Input drawn_input(unsigned seed) {
    std::mt19937 random(seed);
    Input input(random() % longest_input);
    for (std::uint8_t& byte : input) {
        const bool is_any_byte = seed % 2 == 0 || random() % 16 == 0;
        byte = static_cast<std::uint8_t>(is_any_byte ? random() % 256 : ' ' + random() % 95);
    }
    return input;
}

Input read_input(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool replay(const Input& input, const std::string& name) {
    try {
        LLVMFuzzerTestOneInput(input.data(), input.size());
        return true;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s (%zu bytes): %s\n", name.c_str(), input.size(), error.what());
        return false;
    }
}

}  // namespace

int main(int argc, char** argv) {
    int failures = 0;
    for (int i = 1; i < argc; ++i) failures += !replay(read_input(argv[i]), argv[i]);
    for (unsigned seed = 0; argc == 1 && seed < drawn_inputs; ++seed)
        failures += !replay(drawn_input(seed), "input of seed " + std::to_string(seed));
    return failures == 0 ? 0 : 1;
}
