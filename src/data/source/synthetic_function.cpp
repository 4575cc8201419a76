// A small grammar of Python functions. Every variable in a generated body is a parameter, a loop variable or
// the target of an earlier assignment.
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

// The kind of a parameter of the generated function.
enum class Kind { list, number, text, settings };

struct Parameter {
    std::string name;
    std::string item;  // for a list: the name of an element
    Kind kind = Kind::list;
};

std::string_view find_type_name(Kind kind) {
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

std::string capitalise(std::string_view word) {
    std::string text(word);
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

// Writes one function. A line is indented by the depth of its block. `depth_` is the depth of the function's
// body: 2 in a method, otherwise 1. The first line, with `def`, is not indented, not even in a method.
class FunctionWriter {
public:
    FunctionWriter(Draw& draw, std::size_t length)
        : draw_(draw),
          target_length_(length),
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
    std::string make_line(int extra_depth, const std::string& text) const {
        return cat(std::string(static_cast<std::size_t>(4 * (depth_ + extra_depth)), ' '), text, '\n');
    }

    const Parameter& main_list() const { return parameters_.front(); }
    std::string make_result_name() const { return cat(verb_.past, '_', noun_.many); }
    // Returns the call of an imagined function for one element, for example "load_row(row)" in load_rows().
    std::string write_call(const std::string& argument) const {
        return cat(is_method_ ? "self._" : "", verb_.plain, '_', noun_.one, '(', argument, ')');
    }
    const Parameter* find_parameter(Kind kind) const {
        for (const Parameter& parameter : parameters_)
            if (parameter.kind == kind) return &parameter;
        return nullptr;
    }

    void choose_parameters() {
        parameters_.push_back({std::string(noun_.many), std::string(noun_.one), Kind::list});
        if (target_length_ < 260) return;
        if (!draw_.one_in(3))
            parameters_.push_back({std::string(pick(draw_, synthetic_words::texts)), "", Kind::text});
        if (!draw_.one_in(3))
            parameters_.push_back({std::string(pick(draw_, synthetic_words::numbers)), "", Kind::number});
        if (target_length_ > 500 && draw_.one_in(2))
            parameters_.push_back({std::string(pick(draw_, synthetic_words::settings)), "", Kind::settings});
    }

    void write_signature() {
        adjective_ = draw_.one_in(3) ? std::string(pick(draw_, synthetic_words::adjectives)) : "";
        name_ = cat(verb_.plain, '_', adjective_, adjective_.empty() ? "" : "_", noun_.many);
        if (is_method_) class_name_ = cat(capitalise(noun_.one), draw_.one_in(2) ? "Reader" : "Store");
        code_ = cat("def ", name_, is_method_ ? "(self, " : "(");
        for (const Parameter& parameter : parameters_)
            code_ += cat(&parameter == &parameters_.front() ? "" : ", ", parameter.name,
                         choose_default(parameter.kind));
        code_ += "):\n";
    }

    static std::string_view choose_default(Kind kind) {
        if (kind == Kind::number) return "=10";
        return kind == Kind::settings ? "=None" : "";
    }

    void write_docstring() {
        const std::string space = adjective_.empty() ? "" : " ";
        docstring_ = cat(draw_.one_in(2) ? std::string(verb_.third) : capitalise(verb_.plain), " the ",
                         adjective_, space, noun_.many, pick(draw_, list_endings()));
        if (target_length_ < 330) {
            code_ += make_line(0, cat("\"\"\"", docstring_, "\"\"\""));
            return;
        }
        docstring_ += "\n\n";
        for (const Parameter& parameter : parameters_) docstring_ += describe_parameter(parameter);
        docstring_ += cat(":return: the ", verb_.past, " ", noun_.many, " as a list");
        const std::string margin(static_cast<std::size_t>(4 * depth_), ' ');
        std::string indented;
        for (std::size_t at = 0; at < docstring_.size(); ++at) {
            indented += docstring_[at];
            const bool begins_line = docstring_[at] == '\n' && docstring_[at + 1] != '\n';
            if (begins_line) indented += margin;
        }
        code_ += make_line(0, cat("\"\"\"", indented)) + make_line(0, "\"\"\"");
    }

    static std::span<const std::string_view> list_endings() {
        static constexpr std::array<std::string_view, 4> all = {
            ".", " of this context.", " in the order of their names.", " that are given."};
        return all;
    }

    std::string describe_parameter(const Parameter& parameter) {
        const std::string_view type = find_type_name(parameter.kind);
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
        const std::string result = make_result_name();
        const std::string opening = make_line(0, cat(result, " = []"));
        const std::string ending = make_line(0, cat("return ", result));
        const std::string direct = make_line(0, cat("return ", write_call(main_list().name)));
        if (code_.size() + opening.size() + ending.size() < target_length_) {
            write_guards();
            code_ += opening;
            write_steps(result, ending.size());
            code_ += ending;
        } else {
            if (code_.size() + direct.size() + 40 < target_length_) code_ += write_comment_step();
            code_ += direct;
        }
    }

    void write_guards() {
        for (const Parameter& parameter : parameters_) {
            const std::string guard = write_guard(parameter);
            if (code_.size() + guard.size() + 80 < target_length_ && !draw_.one_in(3)) code_ += guard;
        }
    }

    std::string write_guard(const Parameter& parameter) const {
        const std::string& name = parameter.name;
        switch (parameter.kind) {
            case Kind::list:
                return make_line(0, cat("if not ", name, ":")) + make_line(1, "return []");
            case Kind::number:
                return make_line(0, cat("if ", name, " < 1:")) +
                       make_line(1,
                                 cat("raise ValueError(\"", name, " must be positive, got %d\" % ", name, ")"));
            case Kind::text:
                return make_line(0, cat("if ", name, " is None:")) +
                       make_line(1, cat("raise ValueError(\"", name, " must not be None\")"));
            case Kind::settings:
                return make_line(0, cat("if ", name, " is None:")) + make_line(1, cat(name, " = {}"));
        }
        throw BugError("a kind of parameter without a guard");
    }

    // Appends randomly drawn groups of statements (steps) to the body. Stops after six consecutive draws that
    // would exceed the target length by more than 12 characters. `ending_length` is the number of characters
    // that follow the steps.
    void write_steps(const std::string& result, std::size_t ending_length) {
        int rejected_steps = 0;
        while (rejected_steps < 6) {
            const std::string step = draw_step(result);
            if (code_.size() + step.size() + ending_length <= target_length_ + 12) {
                code_ += step;
                rejected_steps = 0;
            } else {
                ++rejected_steps;
            }
        }
        const std::string final_comment = write_comment_step();
        if (code_.size() + final_comment.size() + ending_length <= target_length_ + 40) code_ += final_comment;
    }

    std::string draw_step(const std::string& result) {
        switch (draw_.below(9)) {
            case 0:
            case 1:
                return write_loop_step(result);
            case 2:
                return write_collect_step(result);
            case 3:
                return write_number_step(result);
            case 4:
                return write_text_step(result);
            case 5:
                return write_settings_step(result);
            case 6:
                return write_count_step();
            case 7:
                return write_attempt_step(result);
            default:
                return write_comment_step();
        }
    }

    std::string write_loop_step(const std::string& result) {
        const std::string& item = main_list().item;
        const std::string_view attribute = pick(draw_, synthetic_words::attributes);
        std::string step = make_line(0, cat("for ", item, " in ", main_list().name, ":"));
        switch (draw_.below(3)) {
            case 0:
                return step + make_line(1, cat("if ", item, " is None:")) + make_line(2, "continue") +
                       make_line(1, cat(result, ".append(", write_call(item), ")"));
            case 1:
                return step + make_line(1, cat(attribute, " = ", item, ".", attribute)) +
                       make_line(1, cat("if ", attribute, " not in ", result, ":")) +
                       make_line(2, cat(result, ".append(", attribute, ")"));
            default:
                return step +
                       make_line(1, cat(item, ".", attribute, " = ", write_call(cat(item, ".", attribute)))) +
                       make_line(1, cat(result, ".append(", item, ")"));
        }
    }

    std::string write_collect_step(const std::string& result) {
        const std::string& item = main_list().item;
        const std::string_view attribute = pick(draw_, synthetic_words::attributes);
        return make_line(0, cat(attribute, "s = [", item, ".", attribute, " for ", item, " in ",
                                main_list().name, "]")) +
               make_line(0, cat(result, ".extend(", attribute, "s)"));
    }

    std::string write_number_step(const std::string& result) {
        const Parameter* number = find_parameter(Kind::number);
        if (number == nullptr) return write_count_step();
        const std::string& name = number->name;
        if (draw_.one_in(2))
            return make_line(0, cat("if len(", result, ") > ", name, ":")) +
                   make_line(1, cat(result, " = ", result, "[:", name, "]"));
        return make_line(0, cat("for i in range(", name, "):")) +
               make_line(1, cat(result, ".append(", main_list().name, "[i])"));
    }

    std::string write_text_step(const std::string& result) {
        const Parameter* text = find_parameter(Kind::text);
        if (text == nullptr) return write_collect_step(result);
        const std::string& name = text->name;
        const std::string& item = main_list().item;
        if (draw_.one_in(2)) return make_line(0, cat(name, " = ", name, ".strip().lower()"));
        return make_line(0, cat(result, " = [", item, " for ", item, " in ", result, " if ", item,
                                ".startswith(", name, ")]"));
    }

    std::string write_settings_step(const std::string& result) {
        const Parameter* settings = find_parameter(Kind::settings);
        if (settings == nullptr) return write_loop_step(result);
        const std::string_view attribute = pick(draw_, synthetic_words::attributes);
        return make_line(0, cat(attribute, " = ", settings->name, ".get(\"", attribute, "\")")) +
               make_line(0, cat("if ", attribute, " is not None:")) +
               make_line(1, cat(result, ".append(", attribute, ")"));
    }

    std::string write_count_step() const {
        return make_line(0, cat("total = len(", main_list().name, ")")) +
               make_line(0, cat("logger.info(\"", verb_.past, " %d ", noun_.many, "\", total)"));
    }

    std::string write_attempt_step(const std::string& result) {
        const std::string& item = main_list().item;
        return make_line(0, "try:") + make_line(1, cat(item, " = ", write_call(cat(main_list().name, "[0]")))) +
               make_line(1, cat(result, ".append(", item, ")")) + make_line(0, "except KeyError as error:") +
               make_line(1, cat("logger.warning(\"cannot ", verb_.plain, " the ", noun_.one, ": %s\", error)"));
    }

    std::string write_comment_step() {
        const Noun& other = pick(draw_, synthetic_words::nouns);
        return make_line(0, cat("# ", capitalise(pick(draw_, synthetic_words::verbs).plain), " the ",
                                other.many, " before the ", noun_.many, " are ", verb_.past, "."));
    }

    Draw& draw_;
    std::size_t target_length_;  // target characters of the whole function
    const Verb& verb_;
    const Noun& noun_;
    std::vector<Parameter> parameters_;  // the first one is a list
    std::string adjective_;
    std::string name_;
    std::string class_name_;
    std::string docstring_;
    std::string code_;
    bool is_method_ = false;
    int depth_ = 1;
};

}  // namespace

SyntheticFunction generate_function(Draw& draw, std::size_t length) {
    return FunctionWriter(draw, length).write();
}

}  // namespace trireme::data
