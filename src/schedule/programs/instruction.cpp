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
    Op::validate,        Op::set_clock};

const char* format_op(Op op) {
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
        case Op::set_clock:
            return "CLOCK";
    }
    throw BugError(cat("unknown operation ", static_cast<int>(op)));
}

// The text of an instruction in parts: "2", "SEND_F" and "0" of "2SEND_F0"; "2", "F", "0" and "1" of "2F0@1";
// "", "REDUCE" and "2" of "REDUCE2".
struct InstructionParts {
    std::string_view first_number;
    std::string_view op_text;
    std::string_view last_number;
    std::optional<std::string_view> age;  // the text after @; empty if there is no @
};

InstructionParts split_instruction(std::string_view text) {
    constexpr std::string_view digits = "0123456789";
    std::optional<std::string_view> age;
    if (const std::size_t at_sign = text.find('@'); at_sign != std::string_view::npos) {
        age = text.substr(at_sign + 1);
        text = text.substr(0, at_sign);
    }
    const std::size_t op_begin = std::min(text.find_first_not_of(digits), text.size());
    const std::size_t op_last = text.find_last_not_of(digits);
    const std::size_t op_end = op_last == std::string_view::npos ? op_begin : op_last + 1;
    return {.first_number = text.substr(0, op_begin),
            .op_text = text.substr(op_begin, op_end - op_begin),
            .last_number = text.substr(op_end),
            .age = age};
}

// The largest stage, micro-batch, age or clock in an instruction. The limit keeps sums of these numbers within
// an int.
constexpr int max_number = 1 << 24;

// Returns nothing if the text is not a number or exceeds max_number.
std::optional<int> parse_number(std::string_view digits) {
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    if (number > max_number) return std::nullopt;
    return number;
}

// Returns nothing if the parts do not form an instruction.
std::optional<Instruction> parse_instruction(const InstructionParts& parts) {
    const auto op = std::find_if(std::begin(all_ops), std::end(all_ops),
                                 [&](Op candidate) { return parts.op_text == format_op(candidate); });
    if (op == std::end(all_ops)) return std::nullopt;
    const std::optional<int> first_number = parse_number(parts.first_number);
    const std::optional<int> last_number = parse_number(parts.last_number);
    const std::optional<int> age = parts.age ? parse_number(*parts.age) : 0;
    if (!last_number || !age || (parts.age && !is_compute(*op))) return std::nullopt;
    if (has_microbatch(*op)) {
        if (!first_number) return std::nullopt;
        return Instruction{.op = *op, .stage = *first_number, .microbatch = *last_number, .age = *age};
    }
    if (!parts.first_number.empty()) return std::nullopt;
    if (*op == Op::set_clock) return Instruction{.op = *op, .mhz = *last_number};
    return Instruction{.op = *op, .stage = *last_number};
}

}  // namespace

bool is_compute(Op op) {
    return op == Op::forward || op == Op::backward || op == Op::backward_input || op == Op::backward_weight;
}

bool is_send(Op op) { return op == Op::send_forward || op == Op::send_backward; }
bool is_receive(Op op) { return op == Op::receive_forward || op == Op::receive_backward; }

bool has_microbatch(Op op) { return has_stage(op) && op != Op::reduce && op != Op::step && op != Op::validate; }
bool has_stage(Op op) { return op != Op::set_clock; }

std::string to_string(const Instruction& instruction) {
    if (!has_stage(instruction.op)) return format_op(instruction.op) + std::to_string(instruction.mhz);
    const std::string stage = std::to_string(instruction.stage);
    if (!has_microbatch(instruction.op)) return format_op(instruction.op) + stage;
    const std::string age = instruction.age == 0 ? "" : "@" + std::to_string(instruction.age);
    return stage + format_op(instruction.op) + std::to_string(instruction.microbatch) + age;
}

std::string to_string(const Program& program) {
    std::string text;
    for (const Instruction& instruction : program) {
        if (!text.empty()) text += ' ';
        text += to_string(instruction);
    }
    return text;
}

Instruction parse_instruction(std::string_view text, const std::string& location) {
    const InstructionParts parts = split_instruction(text);
    if (const std::optional<Instruction> instruction = parse_instruction(parts)) return *instruction;

    std::vector<std::string> op_names;
    for (const Op op : all_ops) op_names.emplace_back(format_op(op));
    const bool is_known_op = std::find(op_names.begin(), op_names.end(), parts.op_text) != op_names.end();
    throw ConfigError(cat(location, ": ", quote_text(text),
                          " is not an instruction; write stage, operation and micro-batch (2F0, 2B0, 2I0, 2W0, "
                          "2SEND_F0, 2RECV_F0, 2SEND_B0, 2RECV_B0; 2F0@1 uses the weights of one update ago), "
                          "operation and stage (REDUCE2, STEP2, VALIDATE2), or the clock in MHz (CLOCK900); no "
                          "number may exceed ",
                          max_number, is_known_op ? std::string() : suggest_word(parts.op_text, op_names)));
}

}  // namespace trireme::schedule
