#include "data/tokenizer/tokenizer_files.hpp"

#include <sstream>

#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::data {
namespace {

namespace fs = std::filesystem;

// Names of the files of a tokenizer.
struct FilePair {
    char tokens[16];
    char merges[16];
};

constexpr FilePair file_pairs[] = {{"encoder.json", "vocab.bpe"}, {"vocab.json", "merges.txt"}};

// Parses one merge per line, after an optional line "#version: 0.2".
std::vector<std::pair<std::string, std::string>> parse_merge_lines(const std::string& text,
                                                                   const std::string& source) {
    std::vector<std::pair<std::string, std::string>> merges;
    std::istringstream lines(text);
    lines.exceptions(std::ios::badbit);  // otherwise running out of memory would look like the end of the text
    std::string line;
    for (bool is_first = true; std::getline(lines, line); is_first = false) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (line.empty() || (is_first && line.starts_with("#version"))) continue;
        merges.push_back(parse_merge(line, merges.size() + 1, source));
    }
    return merges;
}

Vocabulary read_file_pair(const fs::path& tokens, const fs::path& merges) {
    const std::string tokens_source = tokens.string();
    const std::string merges_source = merges.string();
    return build_vocabulary(
        {.vocabulary_source = tokens_source,
         .merges_source = merges_source,
         .tokens =
             parse_tokens(parse_json<nlohmann::json>(read_regular_file(tokens), tokens_source), tokens_source),
         .specials = {},
         .merges = parse_merge_lines(read_regular_file(merges), merges_source)});
}

Vocabulary read_tokenizer_json(const fs::path& path) {
    return parse_tokenizer_json(read_regular_file(path), path.string());
}

}  // namespace

Vocabulary read_vocabulary(const fs::path& folder_or_file) {
    std::error_code ignored;  // a path that cannot be accessed is reported when it is read
    if (!fs::is_directory(folder_or_file, ignored)) return read_tokenizer_json(folder_or_file);
    const fs::path& folder = folder_or_file;
    for (const FilePair& names : file_pairs)
        if (fs::exists(folder / names.tokens, ignored) || fs::exists(folder / names.merges, ignored))
            return read_file_pair(folder / names.tokens, folder / names.merges);
    if (fs::exists(folder / "tokenizer.json", ignored)) return read_tokenizer_json(folder / "tokenizer.json");
    throw ConfigError(
        cat("the folder ", folder.string(), " holds no GPT-2 tokenizer: neither encoder.json and vocab.bpe, ",
            "nor vocab.json and merges.txt, nor tokenizer.json; name a folder with one of these"));
}

}  // namespace trireme::data
