#include "ranks/model/help_formula.hpp"

#include "trireme/comm/collectives.hpp"
#include "trireme/model/channel_choice.hpp"
#include "unit/model/small_parts.hpp"

namespace trireme::validation {
namespace {

// Returns the part of `rank`. Rank r has `first` + r * `more` channels.
model::Channels make_growing_part(int rank, int ranks, std::size_t first, std::size_t more) {
    const auto count = [&](int r) { return first + more * static_cast<std::size_t>(r); };
    model::Channels part;
    for (int r = 0; r < ranks; ++r) {
        if (r == rank) part.own_ranges = {{part.width, count(r)}};
        part.width += count(r);
    }
    return part;
}

layout::Migration migration(int from, int to, double part) {
    return {.from = from, .to = to, .fractions = {part, part, part, part}};
}

}  // namespace

Phases& Phases::operator+=(const Phases& other) {
    forward += other.forward;
    backward_input += other.backward_input;
    backward_weight += other.backward_weight;
    return *this;
}

Sent Phases::sum() const {
    Sent all = forward;
    all += backward_input;
    all += backward_weight;
    return all;
}

std::vector<std::size_t> offloaded_by(const Migrations& migrations, int owner,
                                      const model::ProjectionShape& projection) {
    std::vector<double> parts;
    for (const layout::Migration& each : migrations) {
        if (each.from == owner) parts.push_back(each.fraction(projection.id.matmul));
    }
    return model::count_offloaded_channels(projection.channels, parts);
}

Phases expected_traffic(model::InputSharding input_sharding, const model::ProjectionShape& owners,
                        const std::vector<std::size_t>& offloaded, std::size_t rows) {
    const std::size_t matrices = owners.weights.size(), outputs = owners.outputs();
    Phases all;
    for (const std::size_t channels : offloaded) {
        if (channels == 0) continue;
        const Sent weights{matrices, byte_size(device::DType::f64) * channels * outputs};
        const Sent broadcast{1, byte_size(device::DType::f64) * rows *
                                    (input_sharding == model::InputSharding::replicated ? outputs : channels)};
        all.forward += weights;
        all.forward += broadcast;
        all.backward_input += broadcast;
        all.backward_weight += weights;
    }
    return all;
}

model::Projection make_projection(model::Family family, model::InputSharding input_sharding, int rank,
                                  int ranks) {
    const model::ModelConfig config = sharable(family, Task::language);
    if (input_sharding == model::InputSharding::sharded)
        return {config,
                make_growing_part(rank, ranks, 64, 8),
                {{"last", model::make_all_channels(24)}},
                0.02,
                false};
    std::vector<model::Projection::MatrixSpec> parts{{"first", make_growing_part(rank, ranks, 12, 4)}};
    if (family == model::Family::llama) parts.push_back({"second", make_growing_part(rank, ranks, 5, 1)});
    return {config, model::make_all_channels(64), parts, 0.02};
}

Migrations HelperTraffic::one_owner() const {
    Migrations all;
    for (int to = 0; to < ranks(); ++to) {
        if (to != 1) all.push_back(migration(1, to, 0.125 * (1 + static_cast<double>(all.size()))));
    }
    return all;
}

std::vector<Migrations> HelperTraffic::every_migrations() const {
    if (ranks() == 2) return {one_owner()};
    Migrations two_owners;
    for (int to = 0; to < ranks() - 1; ++to) {
        if (to == 1) continue;
        two_owners.push_back(migration(1, to, 0.375));
        two_owners.push_back(migration(ranks() - 1, to, 0.25));
    }
    return {one_owner(), two_owners};
}

Sent HelperTraffic::of_all_ranks(const Sent& own) {
    const std::array numbers{static_cast<double>(own.messages), static_cast<double>(own.bytes)};
    const std::vector<double> all = all_gather(world_, numbers);
    Sent sum;
    for (std::size_t i = 0; i < all.size(); i += 2)
        sum += {static_cast<std::size_t>(all[i]), static_cast<std::size_t>(all[i + 1])};
    return sum;
}

}  // namespace trireme::validation
