#include "data/source/squad_document.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

using Json = nlohmann::json;

// The meaning of the innermost open list or object of the JSON text. `file` means that none is open.
// `elsewhere` is a list or an object that no row uses.
enum class Level : std::uint8_t {
    file,
    root,
    data,
    article,
    paragraphs,
    paragraph,
    questions,
    question,
    answers,
    answer,
    elsewhere
};

// A list (if `is_list`) or an object with the key `key` has the level `to` if its parent has the level `from`.
struct LevelChange {
    Level from;
    std::string_view key;  // empty for the root object and for an element of a list
    bool is_list;
    Level to;
};

constexpr std::array<LevelChange, 9> level_changes = {{{Level::file, "", false, Level::root},
                                                       {Level::root, "data", true, Level::data},
                                                       {Level::data, "", false, Level::article},
                                                       {Level::article, "paragraphs", true, Level::paragraphs},
                                                       {Level::paragraphs, "", false, Level::paragraph},
                                                       {Level::paragraph, "qas", true, Level::questions},
                                                       {Level::questions, "", false, Level::question},
                                                       {Level::question, "answers", true, Level::answers},
                                                       {Level::answers, "", false, Level::answer}}};

constexpr std::size_t max_depth = 200;  // levels of lists and objects; SQuAD has nine

// Handles the events of the JSON parser and tracks the level of the innermost open list or object.
class LevelHandler : public nlohmann::json_sax<Json> {
public:
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return refuse("binary values are not JSON"); }
    bool key(string_t& name) override {
        key_ = std::move(name);
        return true;
    }
    bool start_object(std::size_t) override { return enter(false); }
    bool start_array(std::size_t) override { return enter(true); }
    bool end_object() override { return leave(); }
    bool end_array() override { return leave(); }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::detail::exception& error) override {
        const std::string_view text = error.what();
        // `text` is, for example, "[json.exception.parse_error.101] parse error at ...".
        const std::size_t mark = text.find("] ");
        return refuse(cat("broken JSON at byte ", position, ": ",
                          mark == std::string_view::npos ? text : text.substr(mark + 2)));
    }

    const std::string& fault() const { return fault_; }

protected:
    virtual void on_enter(Level level) = 0;

    Level level() const { return levels_.back(); }
    bool is_at(Level level, std::string_view key) const { return levels_.back() == level && key_ == key; }
    bool refuse(std::string fault) {
        fault_ = std::move(fault);
        return false;
    }

private:
    bool enter(bool is_list) {
        if (levels_.size() > max_depth)
            return refuse(cat("its lists and objects are nested more than ", max_depth, " levels deep"));
        const auto change =
            std::find_if(level_changes.begin(), level_changes.end(), [&](const LevelChange& candidate) {
                return candidate.from == levels_.back() && candidate.is_list == is_list &&
                       (candidate.key.empty() || candidate.key == key_);
            });
        levels_.push_back(change == level_changes.end() ? Level::elsewhere : change->to);
        on_enter(levels_.back());
        return true;
    }

    bool leave() {
        levels_.pop_back();
        return true;
    }

    std::vector<Level> levels_ = {Level::file};
    std::string key_;
    std::string fault_;
};

class DocumentHandler final : public LevelHandler {
public:
    bool string(string_t& value) override {
        if (is_at(Level::article, "title")) document_.titles.back() = std::move(value);
        if (is_at(Level::paragraph, "context")) paragraph().context = std::move(value);
        if (is_at(Level::question, "id")) question().id = std::move(value);
        if (is_at(Level::question, "question")) question().text = std::move(value);
        if (is_at(Level::answer, "text")) answer().text = std::move(value);
        return true;
    }
    bool number_unsigned(number_unsigned_t value) override {
        if (is_at(Level::answer, "answer_start")) answer().start = value;
        if (is_at(Level::question, "id")) question().id = std::to_string(value);
        return true;
    }
    bool boolean(bool value) override {
        if (is_at(Level::question, "is_impossible")) question().is_impossible = value;
        return true;
    }

    bool has_data() const { return has_data_; }
    SquadDocument take_document() { return std::move(document_); }

private:
    void on_enter(Level level) override {
        if (level == Level::data) has_data_ = true;
        if (level == Level::article) document_.titles.emplace_back();
        if (level == Level::paragraph)
            document_.paragraphs.push_back(
                {.article = document_.titles.size() - 1, .context = {}, .questions = {}});
        if (level == Level::question) paragraph().questions.emplace_back();
        if (level == Level::answer) question().answers.emplace_back();
    }

    SquadParagraph& paragraph() { return document_.paragraphs.back(); }
    SquadQuestion& question() { return paragraph().questions.back(); }
    SquadAnswer& answer() { return question().answers.back(); }

    SquadDocument document_;
    bool has_data_ = false;
};

// Parses up to the first element of `data`, where an event handler returns false to end the parsing. The text
// is SQuAD if that element is an object, or if `data` is an empty list.
class SquadDetector final : public LevelHandler {
public:
    bool number_unsigned(number_unsigned_t) override { return level() != Level::data; }
    bool number_integer(number_integer_t) override { return level() != Level::data; }
    bool number_float(number_float_t, const string_t&) override { return level() != Level::data; }
    bool string(string_t&) override { return level() != Level::data; }
    bool boolean(bool) override { return level() != Level::data; }
    bool null() override { return level() != Level::data; }
    bool start_object(std::size_t size) override {
        is_squad_ = level() == Level::data;
        return !is_squad_ && LevelHandler::start_object(size);
    }
    bool start_array(std::size_t size) override {
        return level() != Level::data && LevelHandler::start_array(size);
    }
    bool end_array() override {
        is_squad_ = level() == Level::data;
        return !is_squad_ && LevelHandler::end_array();
    }

    bool is_squad() const { return is_squad_; }

private:
    void on_enter(Level) override {}

    bool is_squad_ = false;
};

}  // namespace

SquadDocument parse_squad(std::string_view json, const std::string& file) {
    DocumentHandler handler;
    if (!Json::sax_parse(json.begin(), json.end(), &handler))
        throw ConfigError(cat(file, " is read as SQuAD, but cannot be parsed: ", handler.fault(),
                              "; copy the file again, or give its format with --format"));
    if (!handler.has_data())
        throw ConfigError(
            cat(file, " is read as SQuAD, but has no list `data`; give its format with --format"));
    return handler.take_document();
}

bool looks_like_squad(std::string_view begin) {
    SquadDetector handler;
    Json::sax_parse(begin.begin(), begin.end(), &handler, Json::input_format_t::json, false);
    return handler.is_squad();
}

}  // namespace trireme::data
