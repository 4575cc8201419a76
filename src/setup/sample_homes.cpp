#include "trireme/setup/sample_homes.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

#include "trireme/setup/step_shapes.hpp"

namespace trireme::setup {
namespace {

// Returns the number of the node whose lowest rank is `node`.
std::size_t find_node_number(const Job& job, int node) {
    std::size_t number = 0;
    for (int rank = 0; rank < node; ++rank)
        if (job.nodes[static_cast<std::size_t>(rank)] == rank) ++number;
    return number;
}

// Returns the stage that ends the frozen layers; the first stage if no layer is frozen.
int find_stage_with_cache(const plan::Plan& plan) {
    int stage = 0;
    while (plan.layout.stages[static_cast<std::size_t>(stage)].layers.end() < plan.first_trained_layer())
        ++stage;
    return stage;
}

// A place of a sample in a micro-batch.
struct Place {
    plan::SampleVisit* visit = nullptr;
    std::size_t node = 0;  // of the micro-batch
};

// The node number of each sample of a step.
using NodeOfSample = std::unordered_map<std::uint64_t, std::size_t>;

// Gives each place a sample of its node while there is one, and then the other samples to the other places.
void exchange_samples(const std::vector<Place>& places, const NodeOfSample& node_of_sample) {
    std::map<std::size_t, std::deque<plan::SampleVisit>> visits_of_node;
    for (const Place& place : places)
        visits_of_node[node_of_sample.at(place.visit->sample)].push_back(*place.visit);
    std::vector<Place> places_left;
    for (const Place& place : places) {
        std::deque<plan::SampleVisit>& visits = visits_of_node[place.node];
        if (visits.empty()) {
            places_left.push_back(place);
            continue;
        }
        *place.visit = visits.front();
        visits.pop_front();
    }
    auto next = places_left.begin();
    for (const auto& [node, visits] : visits_of_node)
        for (const plan::SampleVisit& visit : visits) *(next++)->visit = visit;
}

}  // namespace

std::size_t count_nodes(const Job& job) { return find_node_number(job, job.ranks()); }

cache::SampleCache* find_cache(const Job& job, int rank) {
    return job.caches.empty() ? nullptr : job.caches[static_cast<std::size_t>(rank)].get();
}

SampleHomes::SampleHomes(const Job& job, const plan::Plan& plan)
    : job_(job), sampler_(make_sampler(job)), nodes_(count_nodes(job)) {
    if (job.config.policy.cache.sample_homes == 1 || nodes_ < 2) return;
    const int stage = find_stage_with_cache(plan);
    for (int m = 0; m < plan.microbatches(); ++m) {
        const layout::Team& team =
            plan.teams[static_cast<std::size_t>(plan.training.shape.find_executor(stage, m))];
        const int node = job.nodes[static_cast<std::size_t>(team.ranks.front())];
        node_of_microbatch_.push_back(find_node_number(job, node));
    }
}

void SampleHomes::bring_home(std::uint64_t first_visit,
                             std::vector<std::vector<plan::SampleVisit>>& microbatches) const {
    if (node_of_microbatch_.empty()) return;
    std::size_t visits = 0;
    for (const std::vector<plan::SampleVisit>& microbatch : microbatches) visits += microbatch.size();
    NodeOfSample node_of_sample;
    for (std::uint64_t v = first_visit; v < first_visit + visits; ++v)
        node_of_sample[sampler_.find_visit(v).sample] = sampler_.find_home(v) % nodes_;
    const bool keeps_lengths = forms_by_time(job_.config.schedule.length);
    std::map<std::size_t, std::vector<Place>> places_of_length;  // one entry if any samples may be exchanged
    for (std::size_t m = 0; m < microbatches.size(); ++m) {
        for (plan::SampleVisit& visit : microbatches[m]) {
            const std::size_t length = keeps_lengths ? job_.samples.train[visit.sample].length : 0;
            places_of_length[length].push_back({&visit, node_of_microbatch_[m]});
        }
    }
    for (const auto& [length, places] : places_of_length) exchange_samples(places, node_of_sample);
}

std::vector<bool> list_samples_of_node(const Job& job, int node) {
    std::vector<bool> result(job.samples.train.size(), true);
    if (job.config.policy.cache.sample_homes == 1) return result;
    const std::size_t number = find_node_number(job, node);
    const std::size_t nodes = count_nodes(job);
    const std::vector<std::uint32_t> homes = make_sampler(job).list_homes();
    for (std::size_t sample = 0; sample < result.size(); ++sample)
        result[sample] = homes[sample] % nodes == number;
    return result;
}

}  // namespace trireme::setup
