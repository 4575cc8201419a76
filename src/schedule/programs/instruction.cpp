#include "trireme/schedule/instruction.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::schedule {
namespace {

constexpr Op all_ops[] = {
    Op::forward,         Op::backward,      Op::backward_input,   Op::backward_weight, Op::send_forward,
    Op::receive_forward, Op::send_backward, Op::receive_backward, Op::reduce,          Op::step,
    Op::validate};

const char* word_of(Op op) {
    switch (op) {
        case Op::forward:
            return "F";
        case Op::backward:
            return "B";
        case Op::backward_input:
            return "I";
        case Op::backward_weight:
            return "W";
        case Op::send_forward:
            return "SEND_F";
        case Op::receive_forward:
            return "RECV_F";
        case Op::send_backward:
            return "SEND_B";
        case Op::receive_backward:
            return "RECV_B";
        case Op::reduce:
            return "REDUCE";
        case Op::step:
            return "STEP";
        case Op::validate:
            return "VALIDATE";
    }
    throw BugError(cat("instruction without a word: ", static_cast<int>(op)));
}

// "2", "SEND_F" and "0" of "2SEND_F0"; "2", "F", "0" and "1" of "2F0@1".
struct Parts {
    std::string_view before;
    std::string_view word;
    std::string_view after;
    std::optional<std::string_view> age;
};

Parts split(std::string_view text) {
    constexpr std::string_view digits = "0123456789";
    std::optional<std::string_view> age;
    if (const std::size_t mark = text.find('@'); mark != std::string_view::npos) {
        age = text.substr(mark + 1);
        text = text.substr(0, mark);
    }
    const std::size_t begin = std::min(text.find_first_not_of(digits), text.size());
    const std::size_t last = text.find_last_not_of(digits);
    const std::size_t end = last == std::string_view::npos ? begin : last + 1;
    return {.before = text.substr(0, begin),
            .word = text.substr(begin, end - begin),
            .after = text.substr(end),
            .age = age};
}

// Limit that keeps the number of the next stage or micro-batch within an int.
constexpr int largest_number = 1 << 24;

std::optional<int> number_of(std::string_view digits) {
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    if (number > largest_number) return std::nullopt;
    return number;
}

// Returns nothing if the parts form no instruction.
std::optional<Instruction> instruction_of(const Parts& parts) {
    const auto op =
        std::find_if(std::begin(all_ops), std::end(all_ops), [&](Op o) { return parts.word == word_of(o); });
    if (op == std::end(all_ops)) return std::nullopt;
    const std::optional<int> before = number_of(parts.before);
    const std::optional<int> after = number_of(parts.after);
    const std::optional<int> age = parts.age ? number_of(*parts.age) : 0;
    if (!after || !age || (parts.age && !is_compute(*op))) return std::nullopt;
    if (has_microbatch(*op)) {
        if (!before) return std::nullopt;
        return Instruction{.op = *op, .stage = *before, .microbatch = *after, .age = *age};
    }
    if (!parts.before.empty()) return std::nullopt;
    return Instruction{.op = *op, .stage = *after};
}

}  // namespace

bool is_compute(Op op) {
    return op == Op::forward || op == Op::backward || op == Op::backward_input || op == Op::backward_weight;
}

bool is_send(Op op) { return op == Op::send_forward || op == Op::send_backward; }
bool is_receive(Op op) { return op == Op::receive_forward || op == Op::receive_backward; }

bool has_microbatch(Op op) { return op != Op::reduce && op != Op::step && op != Op::validate; }

std::string to_string(const Instruction& instruction) {
    const std::string stage = std::to_string(instruction.stage);
    if (!has_microbatch(instruction.op)) return word_of(instruction.op) + stage;
    const std::string age = instruction.age == 0 ? "" : "@" + std::to_string(instruction.age);
    return stage + word_of(instruction.op) + std::to_string(instruction.microbatch) + age;
}

std::string to_string(const Program& program) {
    std::string text;
    for (const Instruction& instruction : program) {
        if (!text.empty()) text += ' ';
        text += to_string(instruction);
    }
    return text;
}

Instruction parse_instruction(std::string_view text, const std::string& place) {
    const Parts parts = split(text);
    if (const std::optional<Instruction> instruction = instruction_of(parts)) return *instruction;

    std::vector<std::string> words;
    for (const Op op : all_ops) words.emplace_back(word_of(op));
    const bool is_known = std::find(words.begin(), words.end(), parts.word) != words.end();
    throw ConfigError(cat(place, ": ", in_quotes(text), " is no instruction",
                          is_known ? std::string() : did_you_mean(parts.word, words),
                          "; write stage, letter and micro-batch (2F0, 2B0, 2I0, 2W0, 2SEND_F0, 2RECV_F0, "
                          "2SEND_B0, 2RECV_B0), 2F0@1 for weights of one update ago, or REDUCE2, STEP2 and "
                          "VALIDATE2 with the stage; numbers go up to ",
                          largest_number));
}

}  // namespace trireme::schedule
