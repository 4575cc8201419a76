#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>

#include "app/options/options.hpp"
#include "app/options/values.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::app {
namespace {

constexpr Range factor_range{.low = 1, .high = 1000};

[[noreturn]] void refuse_form(const Setting& setting, const std::string& hint = "") {
    refuse(setting, "settings such as rank=3,factor=4,steps=100:200, with ; between settings", hint);
}

// The fields of a text such as "rank=3,factor=4", by name. In messages a field is called "slow NAME", such as
// "slow rank".
using Fields = std::map<std::string, Setting>;

Fields split_fields(const Setting& setting, const std::string& text) {
    const std::vector<std::string> known{"rank", "factor", "steps", "on", "every", "trace"};
    Fields fields;
    for (const std::string& field_text : split_text(text, ',')) {
        const std::size_t equals_sign = std::min(field_text.find('='), field_text.size());
        const std::string name = field_text.substr(0, equals_sign);
        const bool is_known = std::ranges::find(known, name) != known.end();
        if (!is_known) refuse_form(setting, suggest_word(name, known));
        if (equals_sign == field_text.size()) refuse_form(setting);
        const Setting field{cat(setting.name, ' ', name), field_text.substr(equals_sign + 1), setting.source};
        if (!fields.emplace(name, field).second) refuse_form(setting);
    }
    return fields;
}

std::size_t parse_step(const Setting& setting, const std::string& text) {
    return parse_integer({setting.name, text, setting.source}, 1, std::numeric_limits<std::size_t>::max());
}

void parse_rank(const Setting& rank, config::SlowRank& slow) {
    const bool is_word = !rank.value.empty() && std::isalpha(static_cast<unsigned char>(rank.value[0])) != 0;
    const std::array<std::string, 2> words{"turn", "random"};
    if (!is_word) {
        slow.rank = static_cast<int>(parse_integer(rank, 0, std::numeric_limits<int>::max()));
    } else if (rank.value == words[0]) {
        slow.choice = config::SlowChoice::turn;
    } else if (rank.value == words[1]) {
        slow.choice = config::SlowChoice::random;
    } else {
        refuse(rank, "a whole number, turn or random", suggest_word(rank.value, words));
    }
}

void parse_factor(const Setting& factor, config::SlowRank& slow) {
    const std::vector<std::string> bounds = split_text(factor.value, ':');
    if (bounds.size() == 1) {
        slow.factor = parse_number(factor, factor_range);
        return;
    }
    if (slow.choice != config::SlowChoice::random)
        refuse(factor, "a single number (only rank=random takes a range)");
    if (bounds.size() > 2) refuse(factor, "the lowest and the highest factor, such as 2:4");
    slow.factor = parse_number({factor.name, bounds[0], factor.source}, factor_range);
    slow.highest_factor = parse_number({factor.name, bounds[1], factor.source}, factor_range);
    if (*slow.highest_factor < slow.factor)
        refuse(factor, "a highest factor that is not below the lowest, such as 2:4");
}

void parse_steps(const Setting& steps, config::SlowRank& slow) {
    const std::vector<std::string> bounds = split_text(steps.value, ':');
    if (bounds.size() > 2)
        refuse(steps, "the first and the last step, such as 100:200, or 100: for all steps from 100");
    slow.first_step = parse_step(steps, bounds.front());
    if (bounds.back().empty()) return;  // "100:" has no last step; "100" is a single step
    slow.last_step = parse_step(steps, bounds.back());
    if (*slow.last_step < slow.first_step)
        refuse(steps, "a last step that is not before the first, such as 100:200");
}

void parse_every(const Setting& every, config::SlowRank& slow) {
    slow.every = parse_step(every, every.value);
    if (slow.choice == config::SlowChoice::named) {
        throw ConfigError(cat(describe_setting(every), '=', every.value, " has no effect with rank=", slow.rank,
                              ", which is always the same rank; drop every=", every.value,
                              ", or use rank=turn or rank=random"));
    }
}

config::SlowRank parse_trace(const Setting& setting, const Fields& fields) {
    const Setting& trace = fields.at("trace");
    if (trace.value.empty()) refuse(trace, "the name of a file");
    if (fields.size() > 1) refuse(setting, "trace=FILE alone (the file says which ranks are slow and when)");
    return {.choice = config::SlowChoice::trace, .trace = trace.value};
}

config::SlowRank parse_slow_rank(const Setting& setting, const std::string& text) {
    const Fields fields = split_fields(setting, text);
    if (fields.contains("trace")) return parse_trace(setting, fields);
    if (!fields.contains("rank") || !fields.contains("factor")) refuse_form(setting);
    config::SlowRank slow;
    parse_rank(fields.at("rank"), slow);  // sets slow.choice, which parse_factor() and parse_every() read
    parse_factor(fields.at("factor"), slow);
    if (fields.contains("steps")) parse_steps(fields.at("steps"), slow);
    if (fields.contains("every")) parse_every(fields.at("every"), slow);
    if (fields.contains("on") && parse_choice(fields.at("on"), {"all", "products"}) == 1)
        slow.kernels = config::SlowKernels::matmuls;
    return slow;
}

void add_slow_ranks(const Setting& setting, std::vector<config::SlowRank>& slow) {
    for (const std::string& text : split_text(setting.value, ';'))
        slow.push_back(parse_slow_rank(setting, text));
}

std::string format_rank(const config::SlowRank& slow) {
    if (slow.choice == config::SlowChoice::named) return std::to_string(slow.rank);
    return slow.choice == config::SlowChoice::turn ? "turn" : "random";
}

std::string format_factor(const config::SlowRank& slow) {
    const std::string factor = format_number(slow.factor);
    return slow.highest_factor ? cat(factor, ':', format_number(*slow.highest_factor)) : factor;
}

std::string format_steps(const config::SlowRank& slow) {
    if (slow.first_step == 1 && !slow.last_step) return "";
    return cat(",steps=", slow.first_step, ':', slow.last_step ? std::to_string(*slow.last_step) : "");
}

std::string format_slow_rank(const config::SlowRank& slow) {
    if (slow.choice == config::SlowChoice::trace) return cat("trace=", slow.trace);
    return cat("rank=", format_rank(slow), ",factor=", format_factor(slow), format_steps(slow),
               slow.every ? cat(",every=", *slow.every) : "",
               slow.kernels == config::SlowKernels::matmuls ? ",on=products" : "");
}

std::string format_slow_ranks(const std::vector<config::SlowRank>& slow) {
    std::string text;
    for (const config::SlowRank& each : slow) text += (text.empty() ? "" : ";") + format_slow_rank(each);
    return text.empty() ? "off" : text;
}

}  // namespace

Option make_slow_option(std::vector<config::SlowRank>& slow) {
    return {
        .description =
            {"slow",
             "SETTING[;...]|off",
             "slow ranks down on purpose, to study stragglers; repeatable. Where two settings slow the same "
             "rank, "
             "the factors multiply. A setting joins several of these fields with commas:",
             {{"rank=R",
               "the slow rank: a number; turn: each rank in turn; random: a rank drawn in each period"},
              {"factor=X",
               "kernels take X times as long; with rank=random, X may be a range LOW:HIGH from which the "
               "factor "
               "is drawn"},
              {"steps=A:B", "first and last step, from 1; steps=A: has no last step; if unset, all steps"},
              {"every=K", "steps per period, for turn and random; if unset, a period is an epoch"},
              {"on=KERNELS", "the slowed kernels: all, or products (only matmuls with weights)"},
              {"trace=FILE",
               "a CSV file with the columns step, rank, factor and on; not joined with other fields"}}},
        .set =
            [&slow](const Setting& setting) {
                slow.clear();
                if (setting.value != "off") add_slow_ranks(setting, slow);
            },
        .get = [&slow] { return format_slow_ranks(slow); },
        .add = [&slow](const Setting& setting) { add_slow_ranks(setting, slow); }};
}

}  // namespace trireme::app
