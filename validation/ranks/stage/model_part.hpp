// A rank's part of a model that is spread over the job, with values and gradients.
#pragma once

#include <functional>

#include "ranks/stage/holdings.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::validation {

constexpr device::Patience patience{.stall_seconds = 20};
constexpr layout::BucketRules small_buckets{.large = 12, .largest = 20};

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

    // One step's sums; `order` of the parameters is that in which they get their gradients.
    void sum(NumberOfRank number, const std::vector<std::size_t>& order);
    // In an order that is another one on each rank.
    void sum(NumberOfRank number);

    void fill(const model::ParameterTensors& tensors, const NumberOf& number) const;
    void fill_gradient(std::size_t parameter, NumberOfRank number) const;
    void spoil_what_others_own(const model::ParameterTensors& tensors) const;

    // Expect `expected(element)`, to the bit, of all elements that this rank holds, or of its own shards alone.
    void expect_everywhere(const model::ParameterTensors& tensors, const NumberOf& expected) const;
    void expect_in_own_shards(const model::ParameterTensors& tensors, const NumberOf& expected) const;

    // Over all holders, added in rank order and rounded as the tensors are.
    NumberOf sums(NumberOfRank number) const;
    // Of the sums of every element that someone holds, once.
    double sum_of_squares_of_all(NumberOfRank number) const;

    const Job& job() const { return job_; }
    const std::vector<model::ParameterSpec>& specs() const { return specs_; }
    const model::ParameterTensors& values() const { return values_; }
    const model::ParameterTensors& gradients() const { return gradients_; }
    stage::GradientExchange& exchange() { return exchange_; }

private:
    void expect(const model::ParameterTensors& tensors, const NumberOf& expected,
                const std::vector<std::vector<bool>>& of) const;
    // Which elements of each parameter lie in own shards; expects none to lie in two.
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
