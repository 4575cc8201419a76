#include "equivalence/covering.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

namespace trireme::equivalence {
namespace {

void add_combinations(const Case& chosen, std::size_t from, int ways, Combination& begun,
                      std::vector<Combination>& found) {
    if (ways == 0) {
        found.push_back(begun);
        return;
    }
    for (std::size_t factor = from; factor < chosen.size(); ++factor) {
        if (chosen[factor] == open) continue;
        begun.insert(begun.end(), {static_cast<int>(factor), chosen[factor]});
        add_combinations(chosen, factor + 1, ways - 1, begun, found);
        begun.resize(begun.size() - 2);
    }
}

Case case_of(const Combination& combination, std::size_t factors) {
    Case chosen(factors, open);
    for (std::size_t i = 0; i < combination.size(); i += 2) {
        chosen[static_cast<std::size_t>(combination[i])] = combination[i + 1];
    }
    return chosen;
}

// Returns a pseudo-random number for a turn and a factor.
std::size_t scattered(std::size_t turn, std::size_t factor) {
    std::uint64_t bits = (turn * 64 + factor + 1) * 0x9E3779B97F4A7C15U;
    bits = (bits ^ (bits >> 31)) * 0xBF58476D1CE4E5B9U;
    return static_cast<std::size_t>(bits >> 33);
}

// Grows cases until no combination is missing.
class Greedy {
public:
    Greedy(const CaseSpace& space, int ways) : space_(space), ways_(ways) {
        Case chosen(space.levels().size(), open);
        add_possible(chosen, 0, ways);
    }

    std::vector<Case> cases() {
        std::vector<Case> cases;
        while (!missing_.empty()) {
            Case best;
            std::size_t most = 0;
            for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
                const Case grown = grow(cases.size() + attempt);
                const std::size_t gain = count_missing(find_combinations(grown, ways_));
                if (gain <= most) continue;
                most = gain;
                best = grown;
            }
            for (const Combination& met : find_combinations(best, ways_)) missing_.erase(met);
            cases.push_back(best);
        }
        return cases;
    }

private:
    static constexpr std::size_t attempts = 12;

    void add_possible(Case& chosen, std::size_t from, int ways) {
        if (ways == 0) {
            if (space_.completed(chosen)) missing_.insert(find_combinations(chosen, ways_).front());
            return;
        }
        for (std::size_t factor = from; factor < chosen.size(); ++factor) {
            for (int level = 0; level < space_.levels()[factor]; ++level) {
                chosen[factor] = level;
                add_possible(chosen, factor + 1, ways - 1);
            }
            chosen[factor] = open;
        }
    }

    // Grows one case. `turn` selects the first missing combination, factor and level to be considered, so that
    // ties are broken in turn.
    Case grow(std::size_t turn) const {
        const std::size_t factors = space_.levels().size();
        const auto first = std::next(missing_.begin(), static_cast<std::ptrdiff_t>(turn % missing_.size()));
        Case chosen = case_of(*first, factors);
        for (std::size_t i = 0; i < factors; ++i) {
            const std::size_t factor = (i + turn) % factors;
            if (chosen[factor] == open) chosen[factor] = best_level(chosen, factor, turn);
        }
        return chosen;
    }

    int best_level(Case chosen, std::size_t factor, std::size_t turn) const {
        const int levels = space_.levels()[factor];
        const int first = static_cast<int>(scattered(turn, factor) % static_cast<std::size_t>(levels));
        int best = open;
        std::size_t most = 0;
        for (int i = 0; i < levels; ++i) {
            const int level = (i + first) % levels;
            chosen[factor] = level;
            if (!space_.completed(chosen)) continue;
            const std::size_t gain = count_missing(combinations_with(chosen, factor));
            if (best != open && gain <= most) continue;
            most = gain;
            best = level;
        }
        return best;
    }

    std::vector<Combination> combinations_with(const Case& chosen, std::size_t factor) const {
        std::vector<Combination> all = find_combinations(chosen, ways_);
        std::erase_if(all, [&](const Combination& combination) {
            for (std::size_t i = 0; i < combination.size(); i += 2) {
                if (combination[i] == static_cast<int>(factor)) return false;
            }
            return true;
        });
        return all;
    }

    std::size_t count_missing(const std::vector<Combination>& combinations) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(combinations, [&](const Combination& c) { return missing_.contains(c); }));
    }

    const CaseSpace& space_;
    int ways_;
    std::set<Combination> missing_;
};

}  // namespace

std::optional<Case> CaseSpace::completed(Case chosen) const {
    if (!rule_(chosen)) return std::nullopt;
    const auto next = std::ranges::find(chosen, open);
    if (next == chosen.end()) return chosen;
    for (int level = 0; level < levels_[static_cast<std::size_t>(next - chosen.begin())]; ++level) {
        *next = level;
        if (const std::optional<Case> whole = completed(chosen)) return whole;
    }
    return std::nullopt;
}

std::vector<Case> CaseSpace::covering(int ways) const { return Greedy(*this, ways).cases(); }

void CaseSpace::for_each(const std::function<void(const Case&)>& visit) const {
    Case chosen(levels_.size(), open);
    visit_from(0, chosen, visit);
}

void CaseSpace::visit_from(std::size_t factor, Case& chosen,
                           const std::function<void(const Case&)>& visit) const {
    if (factor == levels_.size()) return visit(chosen);
    for (int level = 0; level < levels_[factor]; ++level) {
        chosen[factor] = level;
        if (rule_(chosen)) visit_from(factor + 1, chosen, visit);
    }
    chosen[factor] = open;
}

std::vector<Combination> find_combinations(const Case& chosen, int ways) {
    std::vector<Combination> found;
    Combination begun;
    add_combinations(chosen, 0, ways, begun, found);
    return found;
}

}  // namespace trireme::equivalence
