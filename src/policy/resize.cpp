#include "trireme/policy/resize.hpp"

#include <algorithm>
#include <cmath>

#include "policy/of_ranks.hpp"
#include "policy/slowness_words.hpp"

namespace trireme::policy {
namespace {

// Returns the rank's time without skipping.
double whole_seconds(const plan::RankTimes& times) { return times.whole_products() + times.others; }

// Returns the time of the slowest rank.
double seconds_of(const std::vector<plan::RankTimes>& times, const std::vector<double>& left_out) {
    double most = 0;
    for (std::size_t r = 0; r < times.size(); ++r)
        most = std::max(most, whole_seconds(times[r]) - left_out[r] * times[r].whole_products());
    return most;
}

class ResizedProducts {
public:
    explicit ResizedProducts(const ResizeRules& rules) : rules_(rules) {}

    std::optional<plan::Decision> decide(const plan::Observation& observed, const plan::Plan& current) const {
        if (observed.step % rules_.every != 0 || observed.ranks.empty()) return std::nullopt;
        std::vector<double> left_out(observed.ranks.size(), 0);
        double now = 0;
        double then = 0;
        for (const layout::Team& team : current.teams) {
            std::vector<plan::RankTimes> times;
            for (const int rank : team.ranks) times.push_back(observed.ranks[static_cast<std::size_t>(rank)]);
            const auto parts =
                parts_to_leave_out(times, of_ranks(team.ranks, observed.slowness, 1), rules_.limit);
            for (std::size_t r = 0; r < parts.size(); ++r)
                left_out[static_cast<std::size_t>(team.ranks[r])] = parts[r];
            now = std::max(now, seconds_of(times, of_ranks(team.ranks, current.left_out, 0)));
            then = std::max(then, seconds_of(times, parts));
        }
        if (!is_worth(left_out, current.left_out)) return std::nullopt;
        plan::Decision decision{.step = observed.step, .layout = current.layout, .policy = "resize"};
        const bool is_whole = std::ranges::all_of(left_out, [](double part) { return part == 0; });
        if (!is_whole) decision.left_out = left_out;
        decision.reason = words_of_slowness(observed);
        decision.terms = terms_of_gain(observed, std::max(0.0, now - then));
        return decision;
    }

private:
    bool is_worth(const std::vector<double>& next, const std::vector<double>& current) const {
        for (std::size_t rank = 0; rank < next.size(); ++rank) {
            const double before = current.empty() ? 0 : current[rank];
            if (std::abs(next[rank] - before) > rules_.least_change) return true;
            if (next[rank] == 0 && before > 0) return true;
        }
        return false;
    }

    ResizeRules rules_;
};

}  // namespace

std::vector<double> parts_to_leave_out(const std::vector<plan::RankTimes>& times,
                                       const std::vector<double>& slowness, double limit) {
    double goal = whole_seconds(times.front());
    for (const plan::RankTimes& each : times) goal = std::min(goal, whole_seconds(each));
    std::vector<double> parts;
    for (std::size_t r = 0; r < times.size(); ++r) {
        const double products = times[r].whole_products();
        const bool leaves_out = slowness[r] > 1 && products > 0;
        parts.push_back(leaves_out ? std::clamp((whole_seconds(times[r]) - goal) / products, 0.0, limit) : 0);
    }
    return parts;
}

Policy resized_products(ResizeRules rules) {
    return [resized = ResizedProducts(rules)](const plan::Observation& observed, const plan::Plan& current) {
        return resized.decide(observed, current);
    };
}

}  // namespace trireme::policy
