#include "tools/prepare/prepare_check.hpp"

#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "tools/prepare/prepare_tokenizer.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

namespace fs = std::filesystem;

struct GivenOption {
    std::string_view name;
    bool is_given;
    bool is_of_questions;  // means something for them
};

// Where a tokenizer may be read from; most of these are not there.
std::vector<fs::path> tokenizer_files(const std::string& option) {
    constexpr std::string_view gpt2_prefix = "gpt2:";
    const fs::path place = option.starts_with(gpt2_prefix) ? option.substr(gpt2_prefix.size()) : option;
    return {place,
            place / "encoder.json",
            place / "vocab.bpe",
            place / "vocab.json",
            place / "merges.txt",
            place / "tokenizer.json"};
}

void check_output(const PrepareConfig& config) {
    if (config.output.empty()) throw ConfigError("prepare needs a file to write: --output corpus.h5");
    std::error_code ignored;  // of what cannot be looked at: opening it says so
    const fs::file_status status = fs::status(config.output, ignored);
    const bool is_else = fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
    if (is_else)
        throw ConfigError(cat("--output ", config.output,
                              " is there already and is no file of data, but a pipe, a device or a socket; "
                              "name another file"));
    for (const fs::path& file : tokenizer_files(config.tokenizer))
        if (fs::is_regular_file(file, ignored) && fs::equivalent(file, config.output, ignored))
            throw ConfigError(
                cat("--output ", config.output, " is the tokenizer ", file.string(), "; name another file"));
}

}  // namespace

void check_files(const PrepareConfig& config) {
    check_output(config);
    for (const std::string& input : config.inputs) {
        std::error_code ignored;  // of files that are not there: opening them says so
        if (fs::equivalent(input, config.output, ignored))
            throw ConfigError(cat("--output ", config.output, " is the input ", input, "; name another file"));
        if (fs::is_fifo(input, ignored) && learns_tokenizer(config))
            throw ConfigError(cat(input, " is a pipe, which can be read only once, and --tokenizer ",
                                  config.tokenizer, " reads it twice; write it to a file first"));
    }
}

void check_meaning(const PrepareConfig& config, RowKind kind) {
    if (kind != RowKind::question && kind != RowKind::image) return;
    const std::array<GivenOption, 5> options = {{{"tokenizer", !config.tokenizer.empty(), true},
                                                 {"special-tokens", config.special_tokens != "none", true},
                                                 {"where", !config.where.empty(), true},
                                                 {"label", !config.label.empty(), false},
                                                 {"rows", !config.rows.empty(), false}}};
    for (const GivenOption& option : options)
        if (option.is_given && !(kind == RowKind::question && option.is_of_questions))
            throw ConfigError(cat("--", option.name, " means nothing for ",
                                  kind == RowKind::image ? "images" : "SQuAD's questions", ", which ",
                                  config.inputs.front(), " holds; leave it out"));
}

}  // namespace trireme
