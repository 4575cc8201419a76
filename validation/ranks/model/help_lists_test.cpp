// Each rank skips different channels. Helper ranks learn which channels they compute.
#include <numeric>

#include "ranks/model/help_formula.hpp"

namespace trireme::model {
namespace {

using validation::CountingGroup;
using validation::HelpTraffic;
using validation::lent_by;
using validation::Migrations;
using validation::projection_of;
using validation::Sent;

class HelpLists : public HelpTraffic {
protected:
    HelpLists() {
        for (int rank = 0; rank < ranks(); ++rank) {
            projections_.emplace_back();
            for (std::size_t block = 0; block < 2; ++block) {
                for (const layout::Product product : {layout::Product::mlp_in, layout::Product::mlp_out}) {
                    const Reads reads = product == layout::Product::mlp_in ? Reads::all : Reads::own;
                    const Projection projection = projection_of(Family::gpt2, reads, rank, ranks());
                    projections_.back().push_back(projection.shape({block, product}));
                }
            }
        }
    }

    // Returns the kept channels of a rank per projection: all but every 16th, from an offset that depends on
    // the rank and the block.
    Resizing::Lists kept_by(int rank) const {
        Resizing::Lists lists;
        for (const ProjectionShape& shape : projections_[static_cast<std::size_t>(rank)]) {
            for (std::size_t c = 0; c < shape.channels; ++c) {
                if (c % 16 == static_cast<std::size_t>(rank) + shape.place.block) continue;
                lists[shape.place].push_back(static_cast<std::int32_t>(c));
            }
        }
        return lists;
    }
    HelpedProducts begun_by(int rank, const Migrations& migrations) const {
        HelpedProducts products(projections_, rank, layout::Spread::tree);
        products.begin(migrations, kept_by(rank));
        return products;
    }
    std::vector<std::int32_t> list_of(int owner, int helper, const ProjectionPlace& where,
                                      const Migrations& migrations) const {
        const HelpedProducts products = begun_by(owner, migrations);
        for (const LentChannels& each : products.at(where)->lent) {
            if (each.helper == helper) return each.channels.channels;
        }
        return {};
    }

    std::vector<std::vector<ProjectionShape>> projections_;
};

TEST_F(HelpLists, AreToldToEachHelperInOneMessage) {
    for (const Migrations& migrations : every_help()) {
        HelpedProducts own = begun_by(rank(), migrations);
        CountingGroup counting(world_);
        own.tell(counting);

        Sent expected{migrations.size(), 0};
        for (int owner = 0; owner < ranks(); ++owner) {
            for (const ProjectionShape& shape : projections_[static_cast<std::size_t>(owner)]) {
                const auto counts = lent_by(migrations, owner, shape);
                expected.bytes += 4 * std::accumulate(counts.begin(), counts.end(), std::size_t{0});
            }
        }
        EXPECT_EQ(of_all_ranks(counting.sent()), expected);
    }
}

TEST_F(HelpLists, AreWhatAnOwnerLends) {
    for (const Migrations& migrations : every_help()) {
        HelpedProducts own = begun_by(rank(), migrations);
        own.tell(world_);

        std::size_t lists = 0;
        for (const ProjectionShape& shape : projections_[0]) {
            const HelpedProduct* const product = own.at(shape.place);
            if (product == nullptr) continue;
            for (const GuestChannels& guest : product->guests) {
                EXPECT_EQ(guest.channels.channels, list_of(guest.owner, rank(), shape.place, migrations));
                ++lists;
            }
        }
        const auto is_for_me = [&](const layout::Migration& each) { return each.to == rank(); };
        EXPECT_EQ(lists, projections_[0].size() * std::ranges::count_if(migrations, is_for_me));
    }
}

}  // namespace
}  // namespace trireme::model
