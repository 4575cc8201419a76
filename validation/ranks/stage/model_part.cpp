#include "ranks/stage/model_part.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <numeric>

#include "comm/mpi/mpi_communicator.hpp"

namespace trireme::validation {
namespace {

constexpr double unset = -1000;

// Makes a group for each set of holders that includes this rank, in the order of the buckets.
stage::DataGroups groups_of(const std::vector<layout::Bucket>& buckets, int rank) {
    stage::DataGroups groups;
    for (const layout::Bucket& bucket : buckets) {
        const auto& holders = bucket.holders;
        const bool is_in = std::ranges::find(holders, rank) != holders.end();
        if (holders.size() == 1 || !is_in || groups.contains(holders)) continue;
        groups[holders] = std::make_unique<comm::MpiCommunicator>(MPI_COMM_WORLD, holders, "data", wait_policy);
    }
    return groups;
}

double number_at(const device::Tensor& tensor, std::size_t row, std::size_t column) {
    return tensor.dtype == device::DType::f64 ? tensor.as<double>()(row, column)
                                              : tensor.as<float>()(row, column);
}

void set_number_at(const device::Tensor& tensor, std::size_t row, std::size_t column, double number) {
    visit_float(tensor.dtype, [&](auto zero) {
        using T = decltype(zero);
        tensor.as<T>()(row, column) = static_cast<T>(number);
    });
}

}  // namespace

Job::Job() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

ModelPart::ModelPart(Holdings holdings, device::DType dtype, const layout::BucketRules& rules)
    : holdings_(std::move(holdings)),
      specs_(holdings_.specs[static_cast<std::size_t>(job_.rank)]),
      dtype_(dtype),
      plan_(plan_of(holdings_, rules)),
      groups_(groups_of(plan_.buckets, job_.rank)),
      values_(specs_, dtype, device::MemorySpace::host),
      gradients_(specs_, dtype, device::MemorySpace::host),
      exchange_(plan_, job_.rank, specs_, values_, gradients_, groups_, device::MemorySpace::host) {}

void ModelPart::sum(NumberOfRank number, const std::vector<std::size_t>& order) {
    fill(gradients_, [](const Element&) { return unset; });
    exchange_.begin_step();
    for (const std::size_t parameter : order) {
        fill_gradient(parameter, number);
        exchange_.mark_complete({parameter});
    }
    exchange_.finish();
}

// Rank 0 uses the order of the parameters. Other ranks begin elsewhere; odd ranks go backwards.
void ModelPart::sum(NumberOfRank number) {
    std::vector<std::size_t> order(specs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto first = static_cast<std::size_t>(job_.rank) % std::max<std::size_t>(1, order.size());
    std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>(first));
    if (job_.rank % 2 == 1) std::ranges::reverse(order);
    sum(number, order);
}

void ModelPart::fill(const model::ParameterTensors& tensors, const NumberOf& number) const {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        for_each_element(specs_[i], [&](const Element& element, std::size_t r, std::size_t c) {
            set_number_at(tensors[i], r, c, number(element));
        });
    }
}

void ModelPart::fill_gradient(std::size_t parameter, NumberOfRank number) const {
    for_each_element(specs_[parameter], [&](const Element& element, std::size_t r, std::size_t c) {
        set_number_at(gradients_[parameter], r, c, number(job_.rank, element));
    });
}

void ModelPart::overwrite_foreign_elements(const model::ParameterTensors& tensors) const {
    const std::vector<std::vector<bool>> is_own = own_elements();
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        for_each_element(specs_[i], [&](const Element&, std::size_t r, std::size_t c) {
            if (!is_own[i][r * specs_[i].columns + c]) set_number_at(tensors[i], r, c, unset);
        });
    }
}

void ModelPart::expect_everywhere(const model::ParameterTensors& tensors, const NumberOf& expected) const {
    std::vector<std::vector<bool>> all;
    for (const model::ParameterSpec& spec : specs_) all.emplace_back(spec.size(), true);
    expect(tensors, expected, all);
}

void ModelPart::expect_own_shards(const model::ParameterTensors& tensors, const NumberOf& expected) const {
    expect(tensors, expected, own_elements());
}

void ModelPart::expect(const model::ParameterTensors& tensors, const NumberOf& expected,
                       const std::vector<std::vector<bool>>& of) const {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        for_each_element(specs_[i], [&](const Element& element, std::size_t r, std::size_t c) {
            if (!of[i][r * specs_[i].columns + c]) return;
            ASSERT_EQ(number_at(tensors[i], r, c), expected(element))
                << "rank " << job_.rank << ", " << element.tensor << " at " << element.row << ", "
                << element.column;
        });
    }
}

NumberOf ModelPart::sums(NumberOfRank number) const {
    return [this, number](const Element& element) {
        double sum = 0;
        visit_float(dtype_, [&](auto total) {
            for (const int rank : holders_of(holdings_, element)) {
                total += static_cast<decltype(total)>(number(rank, element));
            }
            sum = total;
        });
        return sum;
    };
}

double ModelPart::sum_of_squares_of_all(NumberOfRank number) const {
    const NumberOf gradient_of = sums(number);
    double sum = 0;
    for (const layout::HeldTensor& tensor : plan_.tensors) {
        for (std::size_t e = 0; e < tensor.rows * tensor.columns; ++e) {
            const double gradient = gradient_of({tensor.name, e / tensor.columns, e % tensor.columns});
            sum += gradient * gradient;
        }
    }
    return sum;
}

std::vector<std::vector<bool>> ModelPart::own_elements() const {
    std::vector<std::vector<bool>> is_own;
    for (const model::ParameterSpec& spec : specs_) is_own.emplace_back(spec.size());
    for (const auto& [parameter, box] : exchange_.own_shards()) {
        for (std::size_t r = box.rows.begin; r < box.rows.end(); ++r) {
            for (std::size_t c = box.columns.begin; c < box.columns.end(); ++c) {
                auto is_counted = is_own[parameter][r * specs_[parameter].columns + c];
                EXPECT_FALSE(is_counted);
                is_counted = true;
            }
        }
    }
    return is_own;
}

}  // namespace trireme::validation
