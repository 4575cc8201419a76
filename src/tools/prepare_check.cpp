#include "tools/prepare_check.hpp"

#include <array>
#include <filesystem>
#include <string_view>

#include "tools/prepare_tokenizer.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

struct GivenOption {
    std::string_view name;
    bool is_given;
    bool is_of_questions;  // means something for them
};

}  // namespace

void check_files(const PrepareConfig& config) {
    if (config.output.empty()) throw ConfigError("prepare needs a file to write: --output corpus.h5");
    for (const std::string& input : config.inputs) {
        std::error_code ignored;  // of files that are not there: opening them says so
        if (std::filesystem::equivalent(input, config.output, ignored))
            throw ConfigError(cat("--output ", config.output, " is the input ", input, "; name another file"));
        if (std::filesystem::is_fifo(input, ignored) && learns_tokenizer(config))
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
