// A rank's part of a model that is distributed over the job, with values and gradients.
#pragma once

#include <functional>

#include "ranks/stage/holdings.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::validation {

constexpr device::WaitPolicy wait_policy{.stall_seconds = 20};
constexpr layout::BucketRules small_buckets{.large_piece_elements = 12, .max_bucket_elements = 20};

struct Job {
    Job();

    int rank = 0;
    int size = 0;

    std::size_t ranks() const { return static_cast<std::size_t>(size); }
};

using NumberOfRank = double (*)(int rank, const Element& element);
using NumberOf = std::function<double(const Element& element)>;

class ModelPart {
public:
    ModelPart(Holdings holdings, device::DType dtype, const layout::BucketRules& rules = small_buckets);

    // Reduces the gradients of one step. The parameters get their gradients in `order`.
    void sum(NumberOfRank number, const std::vector<std::size_t>& order);
    // As above, in an order that differs between ranks.
    void sum(NumberOfRank number);

    void fill(const model::ParameterTensors& tensors, const NumberOf& number) const;
    void fill_gradient(std::size_t parameter, NumberOfRank number) const;
    // Overwrites the elements that are not in this rank's own shards.
    void overwrite_foreign_elements(const model::ParameterTensors& tensors) const;

    // Expect exactly `expected(element)` for all elements that this rank holds, or for its own shards
    // only.
    void expect_everywhere(const model::ParameterTensors& tensors, const NumberOf& expected) const;
    void expect_own_shards(const model::ParameterTensors& tensors, const NumberOf& expected) const;

    // Returns the sums over all holders, in rank order and in the precision of the tensors.
    NumberOf sums(NumberOfRank number) const;
    // Returns the sum of squares of sums(), over all elements of the model.
    double sum_of_squares_of_all(NumberOfRank number) const;

    const Job& job() const { return job_; }
    const std::vector<model::ParameterSpec>& specs() const { return specs_; }
    const model::ParameterTensors& values() const { return values_; }
    const model::ParameterTensors& gradients() const { return gradients_; }
    stage::GradientExchange& exchange() { return exchange_; }

private:
    void expect(const model::ParameterTensors& tensors, const NumberOf& expected,
                const std::vector<std::vector<bool>>& of) const;
    // Marks the elements of each parameter that lie in own shards. Expects no element to lie in two shards.
    std::vector<std::vector<bool>> own_elements() const;

    Job job_;
    Holdings holdings_;
    const std::vector<model::ParameterSpec>& specs_;
    device::DType dtype_;
    stage::GradientPlan plan_;
    stage::DataGroups groups_;
    model::ParameterTensors values_;
    model::ParameterTensors gradients_;
    stage::GradientExchange exchange_;
};

}  // namespace trireme::validation
