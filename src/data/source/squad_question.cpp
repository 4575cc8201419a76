// Finds the bytes of an answer in its context.
#include <algorithm>
#include <optional>
#include <string_view>

#include "data/source/squad_file.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

constexpr std::string_view white_space = " \t\r\n\f\v";

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(white_space), text.size());
    return text.substr(begin, text.find_last_not_of(white_space) + 1 - begin);
}

// Returns the byte at which character `number` begins, or nullopt if there are fewer characters.
std::optional<std::size_t> byte_of_character(std::string_view text, std::uint64_t number) {
    const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    std::uint64_t seen = 0;
    for (std::size_t byte = 0; byte < text.size(); ++byte)
        if (begins_character(text[byte]) && seen++ == number) return byte;
    return std::nullopt;
}

// Returns the occurrence of the text in the context that is nearest to `wanted`.
std::optional<std::size_t> nearest(std::string_view context, std::string_view text, std::size_t wanted) {
    const std::size_t after = context.find(text, wanted);
    const std::size_t before = context.rfind(text, wanted);
    if (after == std::string_view::npos && before == std::string_view::npos) return std::nullopt;
    if (after == std::string_view::npos) return before;
    if (before == std::string_view::npos) return after;
    return after - wanted < wanted - before ? after : before;
}

std::string fault_of(const SquadQuestion& question, std::string_view context) {
    if (trimmed(question.text).empty()) return "it has no text `question`";
    if (trimmed(context).empty()) return "its paragraph has no text `context`";
    if (question.answers.empty()) return "it has no `answers`, and is not said to be impossible";
    if (!question.answers.front().start) return "its first answer has no `answer_start` of 0 or more";
    for (const SquadAnswer& answer : question.answers) {
        if (!answer.text || trimmed(*answer.text).empty()) return "an answer has no `text`";
        if (answer.text->find('\0') != std::string::npos) return "an answer holds a zero byte";
    }
    return {};
}

}  // namespace

void take_question(const SquadQuestion& question, const std::string& context, SourceRow& row) {
    row.fault = fault_of(question, context);
    if (!row.fault.empty()) return;
    const SquadAnswer& first = question.answers.front();
    const std::string_view text = trimmed(*first.text);
    const auto left_out = static_cast<std::size_t>(text.data() - first.text->data());
    const std::optional<std::size_t> said = byte_of_character(context, *first.start);
    if (!said) {
        row.fault = cat("its `answer_start` is ", *first.start, ", beyond the end of its context");
        return;
    }
    const std::size_t wanted = *said + left_out;
    const std::optional<std::size_t> begin = nearest(context, text, wanted);
    if (!begin) {
        row.fault = cat("its answer '", text, "' is not in its context");
        return;
    }
    row.question.text = trimmed(question.text);
    row.question.context = context;
    row.question.answer_begin = *begin;
    row.question.answer_end = *begin + text.size();
    row.question.is_moved = *begin != wanted;
    for (const SquadAnswer& answer : question.answers) {
        std::string distinct(trimmed(*answer.text));
        auto& answers = row.question.answers;
        if (std::find(answers.begin(), answers.end(), distinct) == answers.end())
            answers.push_back(std::move(distinct));
    }
}

}  // namespace trireme::data
