// Messages of errors.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace trireme::validation {

// Returns the message of the error that `action` throws; "(no error)" if it throws none.
template <class Error, class Action>
std::string catch_message(Action&& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "(no error)";
}

// EXPECT_TRUE(says(message, "part")) shows the message if the part is not in it.
inline testing::AssertionResult says(const std::string& message, std::string_view part) {
    if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the message \"" << message << "\" does not say \"" << part << '"';
}

}  // namespace trireme::validation
