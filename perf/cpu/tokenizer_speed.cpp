// Measures the speed of encoding and decoding text on one core:
//   perf_tokenizer_speed TEXT_FILE TOKENIZER...
// A TOKENIZER is a value of --tokenizer, or train:N to train a tokenizer of N tokens on the text.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/data/tokenizer.hpp"

namespace {

using namespace trireme;

struct Rates {
    double least;
    double median;
    double most;
};

// Returns megabytes of text per second over seven runs, after one warm-up run.
template <class Work>
Rates measure(std::size_t text_bytes, Work work) {
    std::array<double, 7> rates{};
    work();
    for (double& rate : rates) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        rate = static_cast<double>(text_bytes) / 1e6 / seconds.count();
    }
    std::sort(rates.begin(), rates.end());
    return {rates.front(), rates[rates.size() / 2], rates.back()};
}

std::string read_text(const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file.is_open()) throw ConfigError(cat(path, " cannot be read; name a text file"));
    return {std::istreambuf_iterator<char>(file), {}};
}

data::Tokenizer make_tokenizer(const std::string& option, const std::string& text) {
    constexpr std::string_view train_prefix = "train:";
    if (!option.starts_with(train_prefix)) return data::parse_tokenizer_option(option);
    return data::Tokenizer::train({&text, 1}, std::stoul(option.substr(train_prefix.size())));
}

void print(const data::Tokenizer& tokenizer, const char* what, std::size_t tokens, Rates rates) {
    std::printf("%-10s %-14s %10zu tokens   median %7.1f MB/s   (7 runs: %.1f to %.1f MB/s)\n",
                tokenizer.name().c_str(), what, tokens, rates.median, rates.least, rates.most);
}

void report(const std::string& text, const data::Tokenizer& tokenizer) {
    std::vector<std::uint32_t> ids;
    const Rates whole = measure(text.size(), [&] {
        ids.clear();
        tokenizer.encode(text, ids);
    });
    print(tokenizer, "encode", ids.size(), whole);

    std::size_t tokens = 0;
    const Rates lines = measure(text.size(), [&] {
        tokens = 0;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
            tokens += tokenizer.encode(std::string_view(text).substr(at, end - at)).size();
            at = end;
        }
    });
    print(tokenizer, "encode lines", tokens, lines);

    std::string back;
    const Rates decoding = measure(text.size(), [&] { back = tokenizer.decode(ids); });
    if (back != text) throw BugError("decoding the tokens did not return the original text");
    print(tokenizer, "decode", ids.size(), decoding);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 3) throw ConfigError("usage: perf_tokenizer_speed TEXT_FILE TOKENIZER...");
    const std::string text = read_text(argv[1]);
    for (int i = 2; i < argc; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const data::Tokenizer tokenizer = make_tokenizer(argv[i], text);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        std::printf("%-10s ready in %.3f s\n", tokenizer.name().c_str(), seconds.count());
        report(text, tokenizer);
    }
    return 0;
} catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
}
