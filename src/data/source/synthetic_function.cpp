// A small grammar of Python functions. Every name in a body is introduced before it is used: by a parameter, a
// loop or an assignment.
#include <span>
#include <vector>

#include "data/source/synthetic.hpp"
#include "data/source/synthetic_words.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

using synthetic_words::Noun;
using synthetic_words::Verb;

template <class Words>
const auto& pick(Draw& draw, const Words& words) {
    return words[draw.below(words.size())];
}

enum class Kind { list, number, text, settings };

struct Parameter {
    std::string name;
    std::string item;  // for a list: the name of one element
    Kind kind = Kind::list;
};

std::string_view type_name(Kind kind) {
    switch (kind) {
        case Kind::list:
            return "list";
        case Kind::number:
            return "int";
        case Kind::text:
            return "str";
        case Kind::settings:
            return "dict";
    }
    throw BugError("a kind of parameter without a type");
}

std::string capitalised(std::string_view word) {
    std::string text(word);
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

// Writes one function. Lines are indented by the depth of their block; the body of a method is one level
// deeper.
class FunctionWriter {
public:
    FunctionWriter(Draw& draw, std::size_t length)
        : draw_(draw),
          length_(length),
          verb_(pick(draw, synthetic_words::verbs)),
          noun_(pick(draw, synthetic_words::nouns)) {}

    SyntheticFunction write() {
        choose_parameters();
        is_method_ = draw_.below(5) < 2;
        depth_ = is_method_ ? 2 : 1;
        write_signature();
        write_docstring();
        write_body();
        code_.pop_back();  // a row does not end with a newline
        return {class_name_.empty() ? name_ : cat(class_name_, '.', name_), std::move(code_),
                std::move(docstring_)};
    }

private:
    std::string line(int deeper, const std::string& text) const {
        return cat(std::string(static_cast<std::size_t>(4 * (depth_ + deeper)), ' '), text, '\n');
    }

    const Parameter& main_list() const { return parameters_.front(); }
    std::string result_name() const { return cat(verb_.past, '_', noun_.many); }
    std::string call(const std::string& argument) const {
        return cat(is_method_ ? "self._" : "", verb_.plain, '_', noun_.one, '(', argument, ')');
    }
    const Parameter* find(Kind kind) const {
        for (const Parameter& parameter : parameters_)
            if (parameter.kind == kind) return &parameter;
        return nullptr;
    }

    void choose_parameters() {
        parameters_.push_back({std::string(noun_.many), std::string(noun_.one), Kind::list});
        if (length_ < 260) return;
        if (!draw_.one_in(3))
            parameters_.push_back({std::string(pick(draw_, synthetic_words::texts)), "", Kind::text});
        if (!draw_.one_in(3))
            parameters_.push_back({std::string(pick(draw_, synthetic_words::numbers)), "", Kind::number});
        if (length_ > 500 && draw_.one_in(2))
            parameters_.push_back({std::string(pick(draw_, synthetic_words::settings)), "", Kind::settings});
    }

    void write_signature() {
        adjective_ = draw_.one_in(3) ? std::string(pick(draw_, synthetic_words::adjectives)) : "";
        name_ = cat(verb_.plain, '_', adjective_, adjective_.empty() ? "" : "_", noun_.many);
        if (is_method_) class_name_ = cat(capitalised(noun_.one), draw_.one_in(2) ? "Reader" : "Store");
        code_ = cat("def ", name_, is_method_ ? "(self, " : "(");
        for (const Parameter& parameter : parameters_)
            code_ +=
                cat(&parameter == &parameters_.front() ? "" : ", ", parameter.name, default_of(parameter.kind));
        code_ += "):\n";
    }

    static std::string_view default_of(Kind kind) {
        if (kind == Kind::number) return "=10";
        return kind == Kind::settings ? "=None" : "";
    }

    void write_docstring() {
        const std::string space = adjective_.empty() ? "" : " ";
        docstring_ = cat(draw_.one_in(2) ? std::string(verb_.third) : capitalised(verb_.plain), " the ",
                         adjective_, space, noun_.many, pick(draw_, endings()));
        if (length_ < 330) {
            code_ += line(0, cat("\"\"\"", docstring_, "\"\"\""));
            return;
        }
        docstring_ += "\n\n";
        for (const Parameter& parameter : parameters_) docstring_ += describe(parameter);
        docstring_ += cat(":return: the ", verb_.past, " ", noun_.many, " as a list");
        const std::string margin(static_cast<std::size_t>(4 * depth_), ' ');
        std::string indented;
        for (std::size_t at = 0; at < docstring_.size(); ++at) {
            indented += docstring_[at];
            const bool begins_line = docstring_[at] == '\n' && docstring_[at + 1] != '\n';
            if (begins_line) indented += margin;
        }
        code_ += line(0, cat("\"\"\"", indented)) + line(0, "\"\"\"");
    }

    static std::span<const std::string_view> endings() {
        static constexpr std::array<std::string_view, 4> all = {
            ".", " of this context.", " in the order of their names.", " that are given."};
        return all;
    }

    std::string describe(const Parameter& parameter) {
        const std::string_view type = type_name(parameter.kind);
        switch (parameter.kind) {
            case Kind::list:
                return cat(":param ", parameter.name, ": ", type, " of the ", parameter.name, " to ",
                           verb_.plain, "\n");
            case Kind::number:
                return cat(":param ", parameter.name, ": ", type, ", the ", parameter.name, " of each ",
                           noun_.one, " (default 10)\n");
            case Kind::text:
                return cat(":param ", parameter.name, ": ", type, ", the ", parameter.name, " of the ",
                           noun_.many, "\n");
            case Kind::settings:
                return cat(":param ", parameter.name, ": ", type, " of ", parameter.name, " for every ",
                           noun_.one, "\n");
        }
        throw BugError("a kind of parameter without a description");
    }

    void write_body() {
        const std::string result = result_name();
        const std::string opening = line(0, cat(result, " = []"));
        const std::string ending = line(0, cat("return ", result));
        const std::string direct = line(0, cat("return ", call(main_list().name)));
        if (code_.size() + opening.size() + ending.size() < length_) {
            write_guards();
            code_ += opening;
            write_steps(result, ending.size());
            code_ += ending;
        } else {
            if (code_.size() + direct.size() + 40 < length_) code_ += comment_step();
            code_ += direct;
        }
    }

    void write_guards() {
        for (const Parameter& parameter : parameters_) {
            const std::string guard = guard_of(parameter);
            if (code_.size() + guard.size() + 80 < length_ && !draw_.one_in(3)) code_ += guard;
        }
    }

    std::string guard_of(const Parameter& parameter) const {
        const std::string& name = parameter.name;
        switch (parameter.kind) {
            case Kind::list:
                return line(0, cat("if not ", name, ":")) + line(1, "return []");
            case Kind::number:
                return line(0, cat("if ", name, " < 1:")) +
                       line(1, cat("raise ValueError(\"", name, " must be positive, got %d\" % ", name, ")"));
            case Kind::text:
                return line(0, cat("if ", name, " is None:")) +
                       line(1, cat("raise ValueError(\"", name, " must not be None\")"));
            case Kind::settings:
                return line(0, cat("if ", name, " is None:")) + line(1, cat(name, " = {}"));
        }
        throw BugError("a kind of parameter without a guard");
    }

    // Adds steps until the length is reached. A step that does not fit is replaced a few times.
    void write_steps(const std::string& result, std::size_t ending) {
        int refused = 0;
        while (refused < 6) {
            const std::string step = draw_step(result);
            if (code_.size() + step.size() + ending <= length_ + 12) {
                code_ += step;
                refused = 0;
            } else {
                ++refused;
            }
        }
        const std::string last = comment_step();
        if (code_.size() + last.size() + ending <= length_ + 40) code_ += last;
    }

    std::string draw_step(const std::string& result) {
        switch (draw_.below(9)) {
            case 0:
            case 1:
                return loop_step(result);
            case 2:
                return collect_step(result);
            case 3:
                return number_step(result);
            case 4:
                return text_step(result);
            case 5:
                return settings_step(result);
            case 6:
                return count_step();
            case 7:
                return attempt_step(result);
            default:
                return comment_step();
        }
    }

    std::string loop_step(const std::string& result) {
        const std::string& item = main_list().item;
        const std::string_view attribute = pick(draw_, synthetic_words::attributes);
        std::string step = line(0, cat("for ", item, " in ", main_list().name, ":"));
        switch (draw_.below(3)) {
            case 0:
                return step + line(1, cat("if ", item, " is None:")) + line(2, "continue") +
                       line(1, cat(result, ".append(", call(item), ")"));
            case 1:
                return step + line(1, cat(attribute, " = ", item, ".", attribute)) +
                       line(1, cat("if ", attribute, " not in ", result, ":")) +
                       line(2, cat(result, ".append(", attribute, ")"));
            default:
                return step + line(1, cat(item, ".", attribute, " = ", call(cat(item, ".", attribute)))) +
                       line(1, cat(result, ".append(", item, ")"));
        }
    }

    std::string collect_step(const std::string& result) {
        const std::string& item = main_list().item;
        const std::string_view attribute = pick(draw_, synthetic_words::attributes);
        return line(0, cat(attribute, "s = [", item, ".", attribute, " for ", item, " in ", main_list().name,
                           "]")) +
               line(0, cat(result, ".extend(", attribute, "s)"));
    }

    std::string number_step(const std::string& result) {
        const Parameter* number = find(Kind::number);
        if (number == nullptr) return count_step();
        const std::string& name = number->name;
        if (draw_.one_in(2))
            return line(0, cat("if len(", result, ") > ", name, ":")) +
                   line(1, cat(result, " = ", result, "[:", name, "]"));
        return line(0, cat("for i in range(", name, "):")) +
               line(1, cat(result, ".append(", main_list().name, "[i])"));
    }

    std::string text_step(const std::string& result) {
        const Parameter* text = find(Kind::text);
        if (text == nullptr) return collect_step(result);
        const std::string& name = text->name;
        const std::string& item = main_list().item;
        if (draw_.one_in(2)) return line(0, cat(name, " = ", name, ".strip().lower()"));
        return line(0, cat(result, " = [", item, " for ", item, " in ", result, " if ", item, ".startswith(",
                           name, ")]"));
    }

    std::string settings_step(const std::string& result) {
        const Parameter* settings = find(Kind::settings);
        if (settings == nullptr) return loop_step(result);
        const std::string_view attribute = pick(draw_, synthetic_words::attributes);
        return line(0, cat(attribute, " = ", settings->name, ".get(\"", attribute, "\")")) +
               line(0, cat("if ", attribute, " is not None:")) +
               line(1, cat(result, ".append(", attribute, ")"));
    }

    std::string count_step() const {
        return line(0, cat("total = len(", main_list().name, ")")) +
               line(0, cat("logger.info(\"", verb_.past, " %d ", noun_.many, "\", total)"));
    }

    std::string attempt_step(const std::string& result) {
        const std::string& item = main_list().item;
        return line(0, "try:") + line(1, cat(item, " = ", call(cat(main_list().name, "[0]")))) +
               line(1, cat(result, ".append(", item, ")")) + line(0, "except KeyError as error:") +
               line(1, cat("logger.warning(\"cannot ", verb_.plain, " the ", noun_.one, ": %s\", error)"));
    }

    std::string comment_step() {
        const Noun& other = pick(draw_, synthetic_words::nouns);
        return line(0, cat("# ", capitalised(pick(draw_, synthetic_words::verbs).plain), " the ", other.many,
                           " before the ", noun_.many, " are ", verb_.past, "."));
    }

    Draw& draw_;
    std::size_t length_;  // target characters of the whole function
    const Verb& verb_;
    const Noun& noun_;
    std::vector<Parameter> parameters_;  // the list comes first
    std::string adjective_;
    std::string name_;
    std::string class_name_;
    std::string docstring_;
    std::string code_;
    bool is_method_ = false;
    int depth_ = 1;
};

}  // namespace

SyntheticFunction write_function(Draw& draw, std::size_t length) {
    return FunctionWriter(draw, length).write();
}

}  // namespace trireme::data
