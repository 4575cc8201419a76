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

constexpr Range factors{.low = 1, .high = 1000};

[[noreturn]] void refuse_form(const Setting& setting, const std::string& hint = "") {
    refuse(setting, "ranks such as rank=3,factor=4,steps=100:200, with ; between several", hint);
}

// Fields by name. In messages each is called "slow NAME", such as "slow rank".
using Fields = std::map<std::string, Setting>;

Fields fields_of(const Setting& whole, const std::string& text) {
    const std::vector<std::string> known{"rank", "factor", "steps", "on", "every", "trace"};
    Fields fields;
    for (const std::string& part : parts_of(text, ',')) {
        const std::size_t sign = std::min(part.find('='), part.size());
        const std::string name = part.substr(0, sign);
        const bool is_known = std::ranges::find(known, name) != known.end();
        if (!is_known) refuse_form(whole, did_you_mean(name, known));
        if (sign == part.size()) refuse_form(whole);
        const Setting field{cat(whole.name, ' ', name), part.substr(sign + 1), whole.place};
        if (!fields.emplace(name, field).second) refuse_form(whole);
    }
    return fields;
}

std::size_t read_step(const Setting& setting, const std::string& text) {
    return read_whole_number({setting.name, text, setting.place}, 1, std::numeric_limits<std::size_t>::max());
}

void read_rank(const Setting& rank, config::SlowRank& slow) {
    const bool is_word = !rank.value.empty() && std::isalpha(static_cast<unsigned char>(rank.value[0])) != 0;
    const std::array<std::string, 2> words{"turn", "random"};
    if (!is_word) {
        slow.rank = static_cast<int>(read_whole_number(rank, 0, std::numeric_limits<int>::max()));
    } else if (rank.value == words[0]) {
        slow.choice = config::SlowChoice::turn;
    } else if (rank.value == words[1]) {
        slow.choice = config::SlowChoice::random;
    } else {
        refuse(rank, "a whole number, turn or random", did_you_mean(rank.value, words));
    }
}

void read_factor(const Setting& factor, config::SlowRank& slow) {
    const std::vector<std::string> ends = parts_of(factor.value, ':');
    if (ends.size() == 1) {
        slow.factor = read_number(factor, factors);
        return;
    }
    if (slow.choice != config::SlowChoice::random)
        refuse(factor, "a single number, because only rank=random draws from a range");
    if (ends.size() > 2) refuse(factor, "the lowest and the highest factor, such as 2:4");
    slow.factor = read_number({factor.name, ends[0], factor.place}, factors);
    slow.highest_factor = read_number({factor.name, ends[1], factor.place}, factors);
    if (*slow.highest_factor < slow.factor)
        refuse(factor, "a highest factor that is not below the lowest, such as 2:4");
}

void read_steps(const Setting& steps, config::SlowRank& slow) {
    const std::vector<std::string> ends = parts_of(steps.value, ':');
    if (ends.size() > 2) refuse(steps, "the first and the last step, such as 100:200, or 100: from there on");
    slow.first_step = read_step(steps, ends.front());
    if (ends.back().empty()) return;
    slow.last_step = read_step(steps, ends.back());
    if (*slow.last_step < slow.first_step)
        refuse(steps, "a last step that is not before the first, such as 100:200");
}

void read_every(const Setting& every, config::SlowRank& slow) {
    slow.every = read_step(every, every.value);
    if (slow.choice == config::SlowChoice::named) {
        throw ConfigError(cat(label(every), '=', every.value, " says when another rank has its turn, and rank=",
                              slow.rank, " is always the same; leave it out, or use rank=turn or rank=random"));
    }
}

config::SlowRank read_trace(const Setting& whole, const Fields& fields) {
    const Setting& trace = fields.at("trace");
    if (trace.value.empty()) refuse(trace, "a file");
    if (fields.size() > 1)
        refuse(whole, "trace=FILE alone, because the file says which ranks are slow and when");
    return {.choice = config::SlowChoice::trace, .trace = trace.value};
}

config::SlowRank read_slow_rank(const Setting& whole, const std::string& text) {
    const Fields fields = fields_of(whole, text);
    if (fields.contains("trace")) return read_trace(whole, fields);
    if (!fields.contains("rank") || !fields.contains("factor")) refuse_form(whole);
    config::SlowRank slow;
    read_rank(fields.at("rank"), slow);
    read_factor(fields.at("factor"), slow);
    if (fields.contains("steps")) read_steps(fields.at("steps"), slow);
    if (fields.contains("every")) read_every(fields.at("every"), slow);
    if (fields.contains("on") && read_choice(fields.at("on"), {"all", "products"}) == 1)
        slow.on = config::SlowKernels::products;
    return slow;
}

void add_slow_ranks(const Setting& setting, std::vector<config::SlowRank>& slow) {
    for (const std::string& text : parts_of(setting.value, ';')) slow.push_back(read_slow_rank(setting, text));
}

std::string print_rank(const config::SlowRank& slow) {
    if (slow.choice == config::SlowChoice::named) return std::to_string(slow.rank);
    return slow.choice == config::SlowChoice::turn ? "turn" : "random";
}

std::string print_factor(const config::SlowRank& slow) {
    const std::string factor = print_number(slow.factor);
    return slow.highest_factor ? cat(factor, ':', print_number(*slow.highest_factor)) : factor;
}

std::string print_steps(const config::SlowRank& slow) {
    if (slow.first_step == 1 && !slow.last_step) return "";
    return cat(",steps=", slow.first_step, ':', slow.last_step ? std::to_string(*slow.last_step) : "");
}

std::string print_slow_rank(const config::SlowRank& slow) {
    if (slow.choice == config::SlowChoice::trace) return cat("trace=", slow.trace);
    return cat("rank=", print_rank(slow), ",factor=", print_factor(slow), print_steps(slow),
               slow.every ? cat(",every=", *slow.every) : "",
               slow.on == config::SlowKernels::products ? ",on=products" : "");
}

std::string print_slow_ranks(const std::vector<config::SlowRank>& slow) {
    std::string text;
    for (const config::SlowRank& each : slow) text += (text.empty() ? "" : ";") + print_slow_rank(each);
    return text.empty() ? "off" : text;
}

}  // namespace

Option slow_option(std::vector<config::SlowRank>& slow) {
    return {
        .words =
            {"slow",
             "SETTING[;...]|off",
             "slow ranks down on purpose, to study stragglers; repeatable. Where two settings slow the same "
             "rank, "
             "the factors multiply. A setting joins several of these with commas:",
             {{"rank=R", "the slow rank: a number; turn: each rank in turn; random: one drawn in each period"},
              {"factor=X", "kernels take X times as long; LOW:HIGH draws from a range, for rank=random"},
              {"steps=A:B", "first and last step, from 1; A: has no end; if unset, all steps"},
              {"every=K", "steps per period, for turn and random; if unset, an epoch"},
              {"on=KERNELS", "all kernels, or products: matmuls with weights only"},
              {"trace=FILE", "a CSV file with the columns step, rank, factor and on; not joined with others"}}},
        .set =
            [&slow](const Setting& setting) {
                slow.clear();
                if (setting.value != "off") add_slow_ranks(setting, slow);
            },
        .get = [&slow] { return print_slow_ranks(slow); },
        .add = [&slow](const Setting& setting) { add_slow_ranks(setting, slow); }};
}

}  // namespace trireme::app
