// Copies a question of a SQuAD file into a row, and finds the bytes of its answer in the context.
#include <algorithm>
#include <optional>
#include <string_view>

#include "data/source/squad_file.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

constexpr std::string_view white_space = " \t\r\n\f\v";

std::string_view trim(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(white_space), text.size());
    return text.substr(begin, text.find_last_not_of(white_space) + 1 - begin);
}

// Returns the index of the byte at which Unicode character `index` begins, or nullopt if `text` has no such
// character.
std::optional<std::size_t> find_character(std::string_view text, std::uint64_t index) {
    const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    std::uint64_t count = 0;
    for (std::size_t byte = 0; byte < text.size(); ++byte)
        if (begins_character(text[byte]) && count++ == index) return byte;
    return std::nullopt;
}

// Finds the occurrence of `text` in `context` that begins nearest to `expected_begin`. Returns the index of its
// first byte, or nullopt if `text` does not occur.
std::optional<std::size_t> find_nearest_occurrence(std::string_view context, std::string_view text,
                                                   std::size_t expected_begin) {
    const std::size_t after = context.find(text, expected_begin);
    const std::size_t before = context.rfind(text, expected_begin);
    if (after == std::string_view::npos && before == std::string_view::npos) return std::nullopt;
    if (after == std::string_view::npos) return before;
    if (before == std::string_view::npos) return after;
    return after - expected_begin < expected_begin - before ? after : before;
}

// Returns why the question cannot be used, or an empty text if it can.
std::string find_fault(const SquadQuestion& question, std::string_view context) {
    if (trim(question.text).empty()) return "it has no text `question`";
    if (trim(context).empty()) return "its paragraph has no text `context`";
    if (question.answers.empty()) return "it has no `answers` and is not marked as `is_impossible`";
    if (!question.answers.front().start) return "its first answer has no `answer_start` of 0 or more";
    for (const SquadAnswer& answer : question.answers) {
        if (!answer.text || trim(*answer.text).empty()) return "an answer has no `text`";
        if (answer.text->find('\0') != std::string::npos) return "an answer holds a zero byte";
    }
    return {};
}

}  // namespace

void copy_question(const SquadQuestion& question, const std::string& context, SourceRow& row) {
    row.fault = find_fault(question, context);
    if (!row.fault.empty()) return;
    const SquadAnswer& first = question.answers.front();
    const std::string_view text = trim(*first.text);
    const auto trimmed_bytes = static_cast<std::size_t>(text.data() - first.text->data());  // at the front
    const std::optional<std::size_t> recorded_begin = find_character(context, *first.start);
    if (!recorded_begin) {
        row.fault = cat("its `answer_start` is ", *first.start, ", beyond the end of its context");
        return;
    }
    const std::size_t expected_begin = *recorded_begin + trimmed_bytes;
    const std::optional<std::size_t> begin = find_nearest_occurrence(context, text, expected_begin);
    if (!begin) {
        row.fault = cat("its answer '", text, "' is not in its context");
        return;
    }
    row.question.text = trim(question.text);
    row.question.context = context;
    row.question.answer_begin = *begin;
    row.question.answer_end = *begin + text.size();
    row.question.is_answer_moved = *begin != expected_begin;
    for (const SquadAnswer& answer : question.answers) {
        std::string answer_text(trim(*answer.text));
        auto& answers = row.question.answers;
        if (std::find(answers.begin(), answers.end(), answer_text) == answers.end())
            answers.push_back(std::move(answer_text));
    }
}

}  // namespace trireme::data
