#include "layering/source_text.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

namespace trireme::layering {
namespace {

// Walks over a text once. Each blank_* function starts at the first character that it blanks.
class Blanking {
public:
    explicit Blanking(const std::string& text) : text_(text) {}

    std::string code() {
        while (at_ < text_.size()) step();
        return text_;
    }

    std::string comments() {
        const std::string source = text_;
        std::string only = source;
        for (char& c : only)
            if (c != '\n') c = ' ';
        while (at_ < text_.size()) {
            const bool is_comment = here("//") || here("/*");
            const std::size_t begin = at_;
            step();
            if (is_comment) only.replace(begin, at_ - begin, source, begin, at_ - begin);
        }
        return only;
    }

private:
    bool here(const char* word) const {
        return text_.compare(at_, std::char_traits<char>::length(word), word) == 0;
    }

    bool after_a_word() const {
        return at_ > 0 &&
               (std::isalnum(static_cast<unsigned char>(text_[at_ - 1])) != 0 || text_[at_ - 1] == '_');
    }

    void step() {
        if (here("//")) {
            blank_until(text_.find('\n', at_));
        } else if (here("/*")) {
            blank_until(end_of("*/", at_ + 2));
        } else if (here("R\"")) {
            blank_raw();
        } else if (text_[at_] == '"' || (text_[at_] == '\'' && !after_a_word())) {
            blank_literal();
        } else {
            ++at_;
        }
    }

    std::size_t end_of(const std::string& mark, std::size_t from) const {
        const std::size_t found = text_.find(mark, from);
        return found == std::string::npos ? found : found + mark.size();
    }

    void blank_until(std::size_t end) {
        end = std::min(end, text_.size());
        for (; at_ < end; ++at_) {
            if (text_[at_] != '\n') text_[at_] = ' ';
        }
    }

    //   R"mark( ... )mark"
    void blank_raw() {
        const std::size_t open = text_.find('(', at_);
        const std::string mark = open == std::string::npos ? "" : text_.substr(at_ + 2, open - at_ - 2);
        blank_until(end_of(")" + mark + "\"", at_ + 2));
    }

    void blank_literal() {
        const char quote = text_[at_];
        std::size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
            end += text_[end] == '\\' ? 2 : 1;
        }
        blank_until(end + 1 < text_.size() && text_[end] == quote ? end + 1 : end);
    }

    std::string text_;
    std::size_t at_ = 0;
};

}  // namespace

std::string blank_comments_and_literals(const std::string& text) { return Blanking(text).code(); }

std::string blank_code(const std::string& text) { return Blanking(text).comments(); }

std::vector<std::string> lines(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
}

std::vector<Include> includes(const std::string& text) {
    const std::regex directive(R"(^\s*#\s*include\b.*)");
    const std::regex named(R"(^\s*#\s*include\s*([<"])([^">]+)[">].*)");
    const std::vector<std::string> code = lines(blank_comments_and_literals(text));
    const std::vector<std::string> source = lines(text);
    std::vector<Include> found;
    for (std::size_t i = 0; i < code.size(); ++i) {
        if (!std::regex_match(code[i], directive)) continue;
        std::smatch part;
        const bool readable = std::regex_match(source[i], part, named);
        found.push_back({i + 1, readable ? part[2].str() : "", readable && part[1] == "\""});
    }
    return found;
}

}  // namespace trireme::layering
