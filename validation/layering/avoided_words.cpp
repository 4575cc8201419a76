#include "layering/avoided_words.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "layering/source_text.hpp"

namespace trireme::layering {
namespace {

namespace fs = std::filesystem;

// Returns the words, which consist of letters, digits and underscores.
std::vector<std::string> words_in(const std::string& text) {
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

// Only the first line of a comment counts: a line that continues it begins with any word.
std::size_t comments_without_subject(const std::string& comments) {
    static const std::set<std::string> starts{"Of", "Likewise", "That", "Who", "None", "Whether"};
    std::size_t count = 0;
    bool continues = false;
    for (const std::string& line : lines(comments)) {
        const std::size_t begin = line.find_first_not_of(' ');
        const bool is_comment = begin != std::string::npos && line.compare(begin, 2, "//") == 0;
        if (is_comment && !continues) {
            const std::vector<std::string> words = words_in(line);
            if (!words.empty() && starts.contains(words.front())) ++count;
        }
        continues = is_comment;
    }
    return count;
}

std::string lower(std::string word) {
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return word;
}

std::size_t avoided_in_comments(const std::string& comments) {
    static const std::set<std::string> avoided{
        "behind",    "likewise", "nobody", "told",   "so many", "as many", "left out",
        "lent",      "guest",    "guests", "ticket", "tickets", "passage", "stretch",
        "stretches", "twin",     "twins",  "go on",  "goes on", "went on", "taken back"};
    std::size_t count = 0;
    std::string before;
    for (const std::string& word : words_in(comments)) {
        const std::string now = lower(word);
        if (avoided.contains(now) || avoided.contains(before + " " + now)) ++count;
        before = now;
    }
    return count;
}

std::size_t avoided_names(const std::string& code) {
    static const std::vector<std::string> avoided{"micro_batch", "most_", "least_", "words_of",
                                                  "text_of",     "_twin", "twin_"};
    const std::vector<std::string> names = words_in(code);
    return static_cast<std::size_t>(std::ranges::count_if(names, [](const std::string& name) {
        return std::ranges::any_of(
            avoided, [&](const std::string& part) { return name.find(part) != std::string::npos; });
    }));
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

std::size_t count_avoided(const std::string& text) {
    const std::string comments = comments_only(text);
    return comments_without_subject(comments) + avoided_in_comments(comments) + avoided_names(code_only(text));
}

std::map<std::string, std::size_t> count_avoided_below(const fs::path& root) {
    std::map<std::string, std::size_t> counts;
    for (const char* top : {"include", "src", "validation", "perf"}) {
        if (!fs::exists(root / top)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            if (!entry.is_regular_file() || !is_source(entry.path())) continue;
            const std::size_t count = count_avoided(read_source(entry.path()));
            if (count > 0) counts[entry.path().lexically_relative(root).generic_string()] = count;
        }
    }
    return counts;
}

std::map<std::string, std::size_t> read_counts(const fs::path& file) {
    std::map<std::string, std::size_t> counts;
    std::ifstream in(file);
    std::string path;
    for (std::size_t count = 0; in >> path >> count;) counts[path] = count;
    return counts;
}

void write_counts(const fs::path& file, const std::map<std::string, std::size_t>& counts) {
    std::ofstream out(file);
    for (const auto& [path, count] : counts) out << path << ' ' << count << '\n';
}

}  // namespace trireme::layering
