#include <charconv>

#include "trireme/base/error.hpp"
#include "trireme/plan/pass_clocks.hpp"

namespace trireme::plan {
namespace {

constexpr std::size_t max_clock_number = 1'000'000'000;

// Returns the number that the text consists of, from 1 to max_clock_number.
std::optional<std::size_t> parse_positive_number(std::string_view text) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    if (number == 0 || number > max_clock_number) return std::nullopt;
    return number;
}

// Parses "900" or "14*900".
std::optional<ClockRun> parse_clock_run(std::string_view text) {
    const std::size_t star = text.find('*');
    const bool has_count = star != std::string_view::npos;
    const std::optional<std::size_t> passes = has_count ? parse_positive_number(text.substr(0, star)) : 1;
    const std::optional<std::size_t> mhz = parse_positive_number(has_count ? text.substr(star + 1) : text);
    if (!passes || !mhz) return std::nullopt;
    return ClockRun{.passes = *passes, .mhz = static_cast<int>(*mhz)};
}

}  // namespace

std::optional<ReplicaClocks> parse_replica_clocks(std::string_view text) {
    ReplicaClocks clocks;
    if (text.empty()) return clocks;
    while (true) {
        const std::size_t space = text.find(' ');
        const std::optional<ClockRun> run = parse_clock_run(text.substr(0, space));
        if (!run) return std::nullopt;
        clocks.push_back(*run);
        if (space == std::string_view::npos) return clocks;
        text.remove_prefix(space + 1);
    }
}

std::string to_string(const ReplicaClocks& clocks) {
    std::string text;
    for (const ClockRun& run : clocks)
        text += cat(text.empty() ? "" : " ", run.passes > 1 ? cat(run.passes, '*') : "", run.mhz);
    return text;
}

}  // namespace trireme::plan
