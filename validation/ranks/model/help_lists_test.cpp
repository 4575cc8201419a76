// Each rank skips different channels. Helper ranks learn which channels they compute.
#include <numeric>

#include "ranks/model/help_formula.hpp"

namespace trireme::model {
namespace {

using validation::CountingGroup;
using validation::HelperTraffic;
using validation::make_projection;
using validation::Migrations;
using validation::offloaded_by;
using validation::Sent;

class HelpLists : public HelperTraffic {
protected:
    HelpLists() {
        for (int rank = 0; rank < ranks(); ++rank) {
            projections_.emplace_back();
            for (std::size_t block = 0; block < 2; ++block) {
                for (const layout::Matmul matmul : {layout::Matmul::mlp_in, layout::Matmul::mlp_out}) {
                    const InputSharding input_sharding =
                        matmul == layout::Matmul::mlp_in ? InputSharding::replicated : InputSharding::sharded;
                    const Projection projection = make_projection(Family::gpt2, input_sharding, rank, ranks());
                    projections_.back().push_back(projection.make_shape({block, matmul}));
                }
            }
        }
    }

    // Returns the kept channels of a rank per projection: all but every 16th, from an offset that depends on
    // the rank and the block.
    Resizing::ChannelLists make_kept_lists(int rank) const {
        Resizing::ChannelLists lists;
        for (const ProjectionShape& shape : projections_[static_cast<std::size_t>(rank)]) {
            for (std::size_t c = 0; c < shape.channels; ++c) {
                if (c % 16 == static_cast<std::size_t>(rank) + shape.id.block) continue;
                lists[shape.id].push_back(static_cast<std::int32_t>(c));
            }
        }
        return lists;
    }
    OffloadedMatmuls begin_matmuls(int rank, const Migrations& migrations) const {
        OffloadedMatmuls matmuls(projections_, rank, layout::Spread::tree);
        matmuls.begin_period(migrations, make_kept_lists(rank));
        return matmuls;
    }
    std::vector<std::int32_t> list_of(int owner, int helper, const ProjectionId& where,
                                      const Migrations& migrations) const {
        const OffloadedMatmuls matmuls = begin_matmuls(owner, migrations);
        for (const OffloadedChannels& each : matmuls.at(where)->offloaded) {
            if (each.helper == helper) return each.channels.channels;
        }
        return {};
    }

    std::vector<std::vector<ProjectionShape>> projections_;
};

TEST_F(HelpLists, AreSentToEachHelperInOneMessage) {
    for (const Migrations& migrations : every_migrations()) {
        OffloadedMatmuls own = begin_matmuls(rank(), migrations);
        CountingGroup counting(world_);
        own.send_channel_lists(counting);

        Sent expected{migrations.size(), 0};
        for (int owner = 0; owner < ranks(); ++owner) {
            for (const ProjectionShape& shape : projections_[static_cast<std::size_t>(owner)]) {
                const auto counts = offloaded_by(migrations, owner, shape);
                expected.bytes += 4 * std::accumulate(counts.begin(), counts.end(), std::size_t{0});
            }
        }
        EXPECT_EQ(of_all_ranks(counting.sent()), expected);
    }
}

TEST_F(HelpLists, MatchTheChannelsThatTheOwnerOffloads) {
    for (const Migrations& migrations : every_migrations()) {
        OffloadedMatmuls own = begin_matmuls(rank(), migrations);
        own.send_channel_lists(world_);

        std::size_t lists = 0;
        for (const ProjectionShape& shape : projections_[0]) {
            const OffloadedMatmul* const matmul = own.at(shape.id);
            if (matmul == nullptr) continue;
            for (const HelperTask& task : matmul->helper_tasks) {
                EXPECT_EQ(task.channels.channels, list_of(task.owner, rank(), shape.id, migrations));
                ++lists;
            }
        }
        const auto is_for_me = [&](const layout::Migration& each) { return each.to == rank(); };
        EXPECT_EQ(lists, projections_[0].size() * std::ranges::count_if(migrations, is_for_me));
    }
}

}  // namespace
}  // namespace trireme::model
