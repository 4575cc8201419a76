#include "layering/avoided_words.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <string_view>

#include "layering/source_text.hpp"

namespace trireme::layering {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view heading = "## Words to avoid";

// Returns the words, which consist of letters, digits and underscores.
std::vector<std::string> split_words(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : text + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
            word += c;
        } else if (!word.empty()) {
            words.push_back(std::move(word));
            word.clear();
        }
    }
    return words;
}

std::string to_lower(std::string word) {
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return word;
}

std::string trim(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(' ');
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::string blank_backticks(std::string text) {
    bool is_code = false;
    for (char& c : text) {
        if (c == '`') is_code = !is_code;
        if (is_code) c = ' ';
    }
    return text;
}

bool matches(std::string_view name, std::string_view pattern) {
    if (pattern.empty()) return name.empty();
    if (pattern.front() != '*')
        return !name.empty() && name.front() == pattern.front() && matches(name.substr(1), pattern.substr(1));
    for (std::size_t begin = 0; begin <= name.size(); ++begin)
        if (matches(name.substr(begin), pattern.substr(1))) return true;
    return false;
}

void add_entry(const std::string& entry, AvoidedWords& avoided) {
    if (entry.starts_with('`')) {
        avoided.names.push_back(entry.substr(1, entry.size() - 2));
    } else if (entry.ends_with("...")) {
        avoided.openings.insert(entry.substr(0, entry.find_first_of(" .")));
    } else {
        avoided.phrases.insert(to_lower(entry));
    }
}

bool is_source(const fs::path& file) {
    const std::string extension = file.extension().string();
    return extension == ".cpp" || extension == ".hpp" || extension == ".cu" || extension == ".cuh";
}

std::string read_source(const fs::path& file) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

}  // namespace

AvoidedWords read_avoided_words(const std::string& glossary) {
    AvoidedWords avoided;
    const std::size_t begin = glossary.find(heading);
    if (begin == std::string::npos) return avoided;
    bool is_row = false;
    for (const std::string& line : lines(glossary.substr(begin + heading.size()))) {
        if (line.starts_with("## ")) break;
        if (is_row && line.starts_with("|")) {
            std::istringstream entries(line.substr(1, line.find('|', 1) - 1));
            for (std::string entry; std::getline(entries, entry, ',');) add_entry(trim(entry), avoided);
        }
        is_row = is_row ? line.starts_with("|") : line.starts_with("|---");
    }
    return avoided;
}

// Only the first line of a comment can have an opening: a line that continues a comment begins with any word.
std::vector<std::string> find_avoided_words(const AvoidedWords& avoided, const std::string& text) {
    std::vector<std::string> found;
    const std::vector<std::string> comments = lines(blank_backticks(blank_code(text)));
    const std::vector<std::string> code = lines(blank_comments_and_literals(text));
    std::string before;
    bool continues = false;
    for (std::size_t l = 0; l < comments.size(); ++l) {
        const auto report = [&](const std::string& word) {
            found.push_back(std::to_string(l + 1) + ": " + word);
        };
        const std::vector<std::string> words = split_words(comments[l]);
        const bool is_comment = trim(comments[l]).starts_with("//");
        if (is_comment && !continues && !words.empty() && avoided.openings.contains(words.front()))
            report(words.front() + " ...");
        if (!continues) before.clear();
        continues = is_comment;
        for (const std::string& word : words) {
            const std::string now = to_lower(word);
            for (const std::string& phrase : {now, before + " " + now})
                if (avoided.phrases.contains(phrase)) report(phrase);
            before = now;
        }
        if (l >= code.size()) continue;
        for (const std::string& name : split_words(code[l]))
            if (std::ranges::any_of(avoided.names, [&](const auto& pattern) { return matches(name, pattern); }))
                report(name);
    }
    return found;
}

std::vector<std::string> find_avoided_words_below(const AvoidedWords& avoided, const fs::path& root) {
    std::vector<std::string> found;
    for (const char* top : {"include", "src", "validation", "perf"}) {
        if (!fs::exists(root / top)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            if (!entry.is_regular_file() || !is_source(entry.path())) continue;
            const std::string path = entry.path().lexically_relative(root).generic_string();
            for (const std::string& word : find_avoided_words(avoided, read_source(entry.path())))
                found.push_back(path + ":" + word);
        }
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace trireme::layering
