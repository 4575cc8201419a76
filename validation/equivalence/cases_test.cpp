// The few cases that are run contain every pair of levels of all cases.
#include "equivalence/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "equivalence/layout_files.hpp"

namespace trireme::equivalence {
namespace {

// Rule of the tests: no two adjacent factors both have level 1.
bool is_apart(const Case& chosen) {
    for (std::size_t f = 1; f < chosen.size(); ++f) {
        if (chosen[f] == 1 && chosen[f - 1] == 1) return false;
    }
    return true;
}

std::set<Combination> combinations_of_all(const std::vector<Case>& cases, int ways) {
    std::set<Combination> all;
    for (const Case& chosen : cases) {
        for (const Combination& combination : find_combinations(chosen, ways)) all.insert(combination);
    }
    return all;
}

std::vector<Case> every_case(const CaseSpace& space) {
    std::vector<Case> all;
    space.for_each([&](const Case& chosen) { all.push_back(chosen); });
    return all;
}

TEST(Covering, VisitsEveryCaseThatKeepsTheRule) {
    const CaseSpace space({2, 2, 2}, is_apart);

    const std::vector<Case> expected{{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {1, 0, 1}};
    EXPECT_EQ(every_case(space), expected);
}

TEST(Covering, ContainsExactlyTheCombinationsOfAllCases) {
    for (const int ways : {2, 3}) {
        const CaseSpace space({3, 2, 4, 2, 3}, is_apart);

        const std::vector<Case> covering = space.covering(ways);

        EXPECT_EQ(combinations_of_all(covering, ways), combinations_of_all(every_case(space), ways));
        EXPECT_LT(covering.size(), every_case(space).size() / 2);
        EXPECT_TRUE(std::ranges::all_of(covering, is_apart));
    }
}

TEST(Covering, IsEmptyIfTheRuleAllowsNoCase) {
    const CaseSpace space({2, 2}, [](const Case& chosen) { return chosen[1] == open; });

    EXPECT_TRUE(space.covering(2).empty());
    EXPECT_EQ(space.completed({open, open}), std::nullopt);
}

// The set of pairs of levels of two factors, as a table, because all cases together have 60
// million pairs.
class Pairs {
public:
    void add(const Case& chosen) {
        for_each_pair(chosen, 0, [&](std::size_t pair) { are_there_[pair] = true; });
    }
    // Counts pairs with a factor from `first` on.
    std::size_t count_missing(const Case& chosen, std::size_t first) const {
        std::size_t missing = 0;
        for_each_pair(chosen, first, [&](std::size_t pair) { missing += !are_there_[pair]; });
        return missing;
    }

private:
    static constexpr std::size_t max_levels = 16;
    static constexpr std::size_t numbers = 16 * max_levels;  // upper bound of the numbers of all levels

    static void for_each_pair(const Case& chosen, std::size_t first, auto&& use) {
        for (std::size_t f = first; f < chosen.size(); ++f) {
            for (std::size_t g = 0; g < f; ++g) use(number(chosen, f) * numbers + number(chosen, g));
        }
    }
    static std::size_t number(const Case& chosen, std::size_t factor) {
        return factor * max_levels + static_cast<std::size_t>(chosen[factor]);
    }

    std::vector<bool> are_there_ = std::vector<bool>(numbers * numbers);
};

TEST(Cases, CoverEveryPairOfLevelsOfAllCases) {
    const CaseSpace space = product_of_factors();
    const std::vector<Case> covering = space.covering(2);
    Pairs covered;
    for (const Case& chosen : covering) covered.add(chosen);

    std::size_t cases = 0;
    std::size_t missing = 0;
    Case previous;  // its pairs of factors that the next case does not change are counted already
    space.for_each([&](const Case& chosen) {
        ++cases;
        const auto [changed, rest] = std::ranges::mismatch(chosen, previous);
        missing += covered.count_missing(chosen, static_cast<std::size_t>(changed - chosen.begin()));
        previous = chosen;
    });

    EXPECT_EQ(missing, 0U);
    EXPECT_GT(cases, 500'000U);
    EXPECT_LT(covering.size(), 200U);
}

TEST(Cases, UseAtMostEightRanksAndEveryLayout) {
    std::set<int> ranks;
    std::set<int> layouts;
    product_of_factors().for_each([&](const Case& chosen) {
        ranks.insert(ranks_of(chosen));
        layouts.insert(chosen[Factor::layout]);
    });

    EXPECT_EQ(ranks, (std::set{1, 2, 3, 4, 6, 7, 8}));
    EXPECT_EQ(layouts.size(), 1 + layout_files().size());
}

TEST(Cases, AreConvertedToOptions) {
    const Case grid = parse_case(
        "layout=grid pipe=2 data=2 tensor=1 schedule=interleaved*2 micro-batches=3/5 model=gpt2-tied "
        "recompute=unlike partition=listed shard-optimizer=off sequence-parallel=on length=pack precision=f64");
    const Case file = parse_case("layout=looped-shares schedule=looped-bfs*2 micro-batches=3/5");
    const Case v = parse_case("layout=grid pipe=3 data=2 tensor=1 schedule=zb-v*2 micro-batches=5/9");

    EXPECT_EQ(way_options(grid),
              "--pipe 2 --data 2 --tensor 1 --chunks 2 --partition 1,1,1,3 --schedule interleaved "
              "--microbatches 3 --sequence-parallel on --length pack --recompute none,full,selective,none "
              "--shard-optimizer off");
    EXPECT_EQ(way_options(file),
              "--layout looped-shares.json --schedule looped-bfs --microbatches 5 --sequence-parallel on "
              "--length pad --recompute none --shard-optimizer on");
    EXPECT_EQ(way_options(v),
              "--pipe 3 --data 2 --tensor 1 --chunks 2 --partition uniform --schedule zb-v --microbatches 5 "
              "--sequence-parallel on --length pad --recompute none --shard-optimizer on");
}

TEST(Cases, NeverCombineFullRecomputationWithSplitBackward) {
    for (const char* schedule : {"zb-h1*1", "zb-h2*1", "zb-v*2"}) {
        for (const char* recompute : {" recompute=full", " recompute=unlike"}) {
            EXPECT_THROW(parse_case(std::string("layout=grid pipe=2 schedule=") + schedule + recompute),
                         std::invalid_argument);
        }
        EXPECT_NO_THROW(parse_case(std::string("layout=grid pipe=1 recompute=full schedule=") + schedule));
    }
    EXPECT_THROW(parse_case("layout=v-shares schedule=zb-v*2 recompute=unlike"), std::invalid_argument);
    EXPECT_THROW(parse_case("layout=v-shares schedule=interleaved*2"), std::invalid_argument);
    EXPECT_THROW(parse_case("layout=looped-shares schedule=zb-v*2"), std::invalid_argument);
}

TEST(Cases, CanBeParsedBackFromTheirNames) {
    for (const Case& chosen : product_of_factors().covering(2)) {
        EXPECT_EQ(parse_case(to_string(chosen)), chosen) << to_string(chosen);
    }
}

TEST(Cases, CannotBeParsedFromInvalidNames) {
    EXPECT_THROW(parse_case("layout=circle"), std::invalid_argument);
    EXPECT_THROW(parse_case("speed=high"), std::invalid_argument);
    EXPECT_THROW(parse_case("layout=grid pipe=3 data=3"), std::invalid_argument);
}

}  // namespace
}  // namespace trireme::equivalence
