#include "app/slow_option.hpp"

#include <algorithm>
#include <limits>

#include "app/values.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/nearest.hpp"

namespace trireme::app {
namespace {

constexpr Range factors{.low = 1, .high = 1000};

[[noreturn]] void refuse_form(const Setting& setting, const std::string& hint = "") {
    refuse(setting, "ranks such as rank=3,factor=4,steps=100:200, with ; between several", hint);
}

void read_steps(const Setting& steps, SlowRank& slow) {
    const auto number = [&](const std::string& text) {
        return read_whole_number({steps.name, text, steps.place}, 1, std::numeric_limits<std::size_t>::max());
    };
    const std::vector<std::string> ends = parts_of(steps.value, ':');
    if (ends.size() > 2) refuse(steps, "the first and the last step, such as 100:200, or 100: from there on");
    slow.first_step = number(ends.front());
    slow.last_step.reset();
    if (ends.back().empty()) return;
    slow.last_step = number(ends.back());
    if (*slow.last_step < slow.first_step)
        refuse(steps, "a last step that is not before the first, such as 100:200");
}

void read_field(const Setting& field, const std::string& name, SlowRank& slow) {
    if (name == "rank") {
        slow.rank = static_cast<int>(read_whole_number(field, 0, std::numeric_limits<int>::max()));
    } else if (name == "factor") {
        slow.factor = read_number(field, factors);
    } else {
        read_steps(field, slow);
    }
}

SlowRank read_slow_rank(const Setting& whole, const std::string& text) {
    const std::vector<std::string> fields{"rank", "factor", "steps"};
    SlowRank slow;
    std::vector<std::string> given;
    const auto has = [&](const char* name) { return std::ranges::find(given, name) != given.end(); };
    for (const std::string& part : parts_of(text, ',')) {
        const std::size_t sign = std::min(part.find('='), part.size());
        const std::string name = part.substr(0, sign);
        const bool is_known = std::ranges::find(fields, name) != fields.end();
        if (!is_known) refuse_form(whole, did_you_mean(name, fields));
        if (sign == part.size() || has(name.c_str())) refuse_form(whole);
        given.push_back(name);
        read_field({cat(whole.name, ' ', name), part.substr(sign + 1), whole.place}, name, slow);
    }
    if (!has("rank") || !has("factor")) refuse_form(whole);
    return slow;
}

void add_slow_ranks(const Setting& setting, std::vector<SlowRank>& slow) {
    for (const std::string& text : parts_of(setting.value, ';')) slow.push_back(read_slow_rank(setting, text));
}

std::string print_steps(const SlowRank& slow) {
    if (slow.first_step == 1 && !slow.last_step) return "";
    return cat(",steps=", slow.first_step, ':', slow.last_step ? std::to_string(*slow.last_step) : "");
}

std::string print_slow_ranks(const std::vector<SlowRank>& slow) {
    std::string text;
    for (const SlowRank& each : slow) {
        text += cat(text.empty() ? "" : ";", "rank=", each.rank, ",factor=", print_number(each.factor),
                    print_steps(each));
    }
    return text.empty() ? "off" : text;
}

}  // namespace

Option slow_option(std::vector<SlowRank>& slow) {
    return {
        .words = {"slow", "rank=R,factor=X,steps=A:B|off",
                  "a rank whose kernels take X times as long in steps A to B, from 1 (A: from there on; all "
                  "steps if not given), to try what a slow device does; repeatable, or with ; between; where "
                  "steps of a rank overlap, its factors multiply"},
        .set =
            [&slow](const Setting& setting) {
                slow.clear();
                if (setting.value != "off") add_slow_ranks(setting, slow);
            },
        .get = [&slow] { return print_slow_ranks(slow); },
        .add = [&slow](const Setting& setting) { add_slow_ranks(setting, slow); }};
}

}  // namespace trireme::app
