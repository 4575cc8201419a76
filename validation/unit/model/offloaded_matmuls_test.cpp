// Tests which rank computes which channels for which other rank, as each rank of a team determines by itself.
#include "trireme/model/offloaded_matmuls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "error_message.hpp"
#include "unit/model/small_parts.hpp"

namespace trireme::model {
namespace {

using List = std::vector<std::int32_t>;
using Shares = std::vector<std::size_t>;
using TeamProjections = std::vector<std::vector<ProjectionShape>>;

// Returns the projections per rank. The model is so wide that each of four ranks has channels to offload.
TeamProjections make_projections(Family family, const Shares& shares) {
    ModelConfig config = validation::sharable(family, Task::language);
    config.width = 256;
    config.mlp_width = 320;
    config.groups = 0;  // one group per head: shares can divide eight heads in many ways
    TeamProjections all(shares.size());
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
        const TensorPart part{.rank = static_cast<int>(rank), .shares = shares};
        for (const Layer& layer : build_layers(config, part)) {
            for (ProjectionShape& projection : list_projections(layer))
                all[rank].push_back(std::move(projection));
        }
    }
    return all;
}

// Ranks 2 and 0 are slow. Rank 2 has two helpers and offloads less to the second one. Rank 0 offloads nothing
// of its first matmul.
const std::vector<layout::Migration> migrations{{.from = 2, .to = 3, .fractions = {0.5, 0.5, 0.5, 0.5}},
                                                {.from = 0, .to = 3, .fractions = {0, 0.25, 0.5, 0.3}},
                                                {.from = 2, .to = 1, .fractions = {0.1, 0.2, 0.3, 0.25}}};

// Keeps all channels of each projection except one in eight; which one depends on the rank.
Resizing::ChannelLists choose_kept_channels(const std::vector<ProjectionShape>& projections, int rank) {
    Resizing::ChannelLists lists;
    for (const ProjectionShape& projection : projections) {
        for (std::size_t c = 0; c < projection.channels; ++c) {
            if (static_cast<int>(c % 8) != rank) lists[projection.id].push_back(static_cast<std::int32_t>(c));
        }
    }
    return lists;
}

// The state of all ranks of a team, and the channels that each keeps and computes itself in the current period.
struct Ranks {
    explicit Ranks(TeamProjections of_ranks, layout::Spread spread = layout::Spread::tree)
        : projections(std::move(of_ranks)) {
        for (int rank = 0; rank < static_cast<int>(projections.size()); ++rank)
            matmuls.emplace_back(projections, rank, spread);
    }
    void begin(const std::vector<layout::Migration>& migrated) {
        kept.clear();
        own.clear();
        for (std::size_t rank = 0; rank < matmuls.size(); ++rank) {
            kept.push_back(choose_kept_channels(projections[rank], static_cast<int>(rank)));
            own.push_back(matmuls[rank].begin_period(migrated, kept.back()));
        }
    }

    TeamProjections projections;
    std::vector<OffloadedMatmuls> matmuls;
    std::vector<Resizing::ChannelLists> kept, own;
};

struct Trial {
    const char* name;
    Family family;
    Shares shares;

    friend void PrintTo(const Trial& trial, std::ostream* out) { *out << trial.name; }
};

class OffloadedMatmulsTest : public testing::TestWithParam<Trial> {
protected:
    OffloadedMatmulsTest() : ranks_(make_projections(GetParam().family, GetParam().shares)) {
        ranks_.begin(migrations);
    }

    // Calls use(rank, projection) for each projection of each rank.
    template <class Use>
    void for_each_projection(Use&& use) const {
        for (std::size_t rank = 0; rank < ranks_.projections.size(); ++rank) {
            for (const ProjectionShape& projection : ranks_.projections[rank]) {
                SCOPED_TRACE(cat("rank ", rank, ", block ", projection.id.block, ", product ",
                                 static_cast<int>(projection.id.matmul)));
                use(rank, projection);
            }
        }
    }
    std::vector<OffloadedChannels> offloaded(std::size_t rank, const ProjectionId& place) const {
        const OffloadedMatmul* const matmul = ranks_.matmuls[rank].at(place);
        return matmul == nullptr ? std::vector<OffloadedChannels>{} : matmul->offloaded;
    }
    std::vector<HelperTask> helper_tasks(std::size_t rank, const ProjectionId& place) const {
        const OffloadedMatmul* const matmul = ranks_.matmuls[rank].at(place);
        return matmul == nullptr ? std::vector<HelperTask>{} : matmul->helper_tasks;
    }

    Ranks ranks_;
};

TEST_P(OffloadedMatmulsTest, SplitKeptChannelsIntoOwnAndOffloadedOnes) {
    for_each_projection([&](std::size_t rank, const ProjectionShape& projection) {
        List all = ranks_.own[rank].at(projection.id);
        std::size_t count = 0;
        EXPECT_FALSE(all.empty());
        for (const OffloadedChannels& each : offloaded(rank, projection.id)) {
            count += each.channels.channels.size();
            all.insert(all.end(), each.channels.channels.begin(), each.channels.channels.end());
        }

        EXPECT_EQ(all, ranks_.kept[rank].at(projection.id));
        EXPECT_EQ(ranks_.matmuls[rank].count_offloaded_channels(migrations, projection), count);
    });
}

TEST_P(OffloadedMatmulsTest, OffloadTheRequestedPartsInTheOrderOfMigrations) {
    for_each_projection([&](std::size_t rank, const ProjectionShape& projection) {
        const std::vector<OffloadedChannels> offloaded = this->offloaded(rank, projection.id);
        std::size_t next = 0;
        for (const layout::Migration& each : migrations) {
            const double wanted =
                each.fraction(projection.id.matmul) * static_cast<double>(projection.channels);
            if (each.from != static_cast<int>(rank) || wanted < 8) continue;
            ASSERT_LT(next, offloaded.size());
            EXPECT_EQ(offloaded[next].helper, each.to);
            EXPECT_NEAR(static_cast<double>(offloaded[next].channels.channels.size()), wanted, 8);
            ++next;
        }
    });
}

TEST_P(OffloadedMatmulsTest, GiveHelpersExactlyTheChannelsThatOwnersOffload) {
    std::size_t found = 0;
    for_each_projection([&](std::size_t owner, const ProjectionShape& projection) {
        std::map<int, std::size_t> of_owner, of_helpers;  // number of channels per helper
        for (const OffloadedChannels& each : offloaded(owner, projection.id))
            of_owner[each.helper] += each.channels.channels.size();
        for (std::size_t helper = 0; helper < ranks_.matmuls.size(); ++helper) {
            for (const HelperTask& each : helper_tasks(helper, projection.id)) {
                if (each.owner != static_cast<int>(owner)) continue;
                of_helpers[static_cast<int>(helper)] += each.channels.channels.size();
                EXPECT_EQ(each.shape.channels, projection.channels);
                EXPECT_EQ(each.shape.outputs(), projection.outputs());
            }
        }

        EXPECT_EQ(of_helpers, of_owner);
        found += of_owner.size();
    });
    EXPECT_GE(found, 3 * 3);  // 3 pairs of owner and helper, with at least 3 matmuls each on average
}

TEST_P(OffloadedMatmulsTest, ListEachHelpedOwnerOnceInAscendingOrder) {
    for_each_projection([&](std::size_t rank, const ProjectionShape& projection) {
        std::vector<int> owners;
        for (const HelperTask& each : helper_tasks(rank, projection.id)) owners.push_back(each.owner);

        EXPECT_TRUE(std::ranges::is_sorted(owners));
        EXPECT_EQ(std::ranges::adjacent_find(owners), owners.end());
    });
}

// All members of a broadcast tree know the same tree; other ranks know none.
TEST_P(OffloadedMatmulsTest, AgreeOnTheTreeOfEachOwnerAndItsHelpers) {
    for_each_projection([&](std::size_t owner, const ProjectionShape& projection) {
        std::vector<int> expected;
        for (const OffloadedChannels& each : offloaded(owner, projection.id)) {
            if (expected.empty()) expected.push_back(static_cast<int>(owner));
            expected.push_back(each.helper);
        }
        for (std::size_t rank = 0; rank < ranks_.matmuls.size(); ++rank) {
            const OffloadedMatmul* const matmul = ranks_.matmuls[rank].at(projection.id);
            const bool is_in = std::ranges::count(expected, static_cast<int>(rank)) > 0;
            const bool has_one = matmul != nullptr && matmul->trees.contains(static_cast<int>(owner));

            ASSERT_EQ(has_one, is_in) << "at rank " << rank;
            if (!is_in) continue;
            EXPECT_EQ(matmul->trees.at(static_cast<int>(owner)).ranks, expected);
        }
    });
}

TEST_P(OffloadedMatmulsTest, AreEmptyWithoutMigrations) {
    ranks_.begin({});

    for_each_projection([&](std::size_t rank, const ProjectionShape& projection) {
        EXPECT_EQ(ranks_.matmuls[rank].at(projection.id), nullptr);
        EXPECT_EQ(ranks_.matmuls[rank].count_offloaded_channels({}, projection), 0);
    });
    EXPECT_EQ(ranks_.own, ranks_.kept);
}

TEST_P(OffloadedMatmulsTest, RejectOffloadingAllKeptChannels) {
    const ProjectionShape& projection = ranks_.projections[2].front();
    const std::size_t offloaded = ranks_.matmuls[2].count_offloaded_channels(migrations, projection);
    Resizing::ChannelLists kept = ranks_.kept[2];
    kept.at(projection.id).resize(offloaded);

    EXPECT_EQ(validation::catch_message<BugError>([&] { ranks_.matmuls[2].begin_period(migrations, kept); }),
              cat("cannot offload ", offloaded, " of ", offloaded, " kept channels; at least one must stay"));
}

std::vector<Trial> every_trial() {
    return {{"gpt2_even", Family::gpt2, {1, 1, 1, 1}},
            {"gpt2_uneven", Family::gpt2, {2, 1, 1, 4}},
            {"llama_even", Family::llama, {1, 1, 1, 1}},
            {"llama_uneven", Family::llama, {1, 1, 3, 3}}};
}

INSTANTIATE_TEST_SUITE_P(Teams, OffloadedMatmulsTest, testing::ValuesIn(every_trial()),
                         [](const auto& trial) { return testing::PrintToString(trial.param); });

// A helper whose fraction of the matmul rounds to zero tiles gets no channels. It is not in the broadcast tree
// of the owner and the other helpers.
TEST(OffloadedMatmuls, OmitHelpersWithoutATile) {
    Ranks ranks(make_projections(Family::gpt2, {1, 1, 1, 1}), layout::Spread::direct);
    const ProjectionId place = ranks.projections[0].front().id;  // with 256 channels
    ranks.begin({{.from = 0, .to = 1, .fractions = {0.25, 0, 0, 0}},
                 {.from = 0, .to = 2, .fractions = {0.01, 0, 0, 0}}});

    EXPECT_EQ(ranks.matmuls[0].at(place)->offloaded.size(), 1);
    EXPECT_EQ(ranks.matmuls[0].at(place)->trees.at(0).ranks, (std::vector<int>{0, 1}));
    EXPECT_EQ(ranks.matmuls[0].at(place)->trees.at(0).spread, layout::Spread::direct);
    EXPECT_EQ(ranks.matmuls[2].at(place), nullptr);
    EXPECT_EQ(ranks.matmuls[3].at(place), nullptr);
}

}  // namespace
}  // namespace trireme::model
