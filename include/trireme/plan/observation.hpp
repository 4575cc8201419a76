// What is known of a run between two steps.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::plan {

// What a rank did in a step, or in one of several on average.
// Seconds in which a rank waits for others.
struct RankWaits {
    double pipeline = 0;  // for other stages: activations, gradients, and the norm before an update
    double tensor = 0;    // for the other ranks of its team
    double data = 0;      // for other replicas: gradients and parameters, and the norm where there is one stage
    double others = 0;    // for what all ranks tell each other

    double sum() const { return pipeline + tensor + data + others; }
    RankWaits& operator+=(const RankWaits& more) {
        pipeline += more.pipeline;
        tensor += more.tensor;
        data += more.data;
        others += more.others;
        return *this;
    }
    RankWaits operator*(double factor) const {
        return {pipeline * factor, tensor * factor, data * factor, others * factor};
    }
};

struct RankTimes {
    double products = 0;       // seconds, of the matrix products of blocks
    double product_flops = 0;  // that they had
    double whole_flops = 0;    // that they would have had if nothing had been left out
    double others = 0;         // seconds, of all other kernels
    RankWaits waits = {};

    double busy() const { return products + others; }
    double whole_products() const { return product_flops > 0 ? products * whole_flops / product_flops : 0; }
};

// The same on every rank.
struct Observation {
    std::size_t step = 0;               // how many have been made
    double step_seconds = 0;            // lately
    std::vector<RankTimes> ranks = {};  // lately, by the plan that there is; empty: not observed yet
    std::vector<double> slowness = {};  // of each rank: so many times as long as others it takes for a product;
                                        // 1 where that is nothing to speak of
    std::size_t steady_steps = 0;  // since a rank became slow, ceased to be, or became so in another measure
};

}  // namespace trireme::plan
