// SPDX-License-Identifier: Apache-2.0
// A service that does not use crashhook. It reads orders from stdin, one per line, and
// crashes at one without a price.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct order {
    char name[64];
    const char *price;
};

static void read_order(struct order *order, char *line)
{
    char *rest = line;
    const char *name = strsep(&rest, " \n");
    (void)snprintf(order->name, sizeof(order->name), "%s", name);
    order->price = rest != NULL && *rest != 0 ? rest : NULL;
}

__attribute__((noinline)) static long total_in_cents(const struct order *order)
{
    return *order->price == '0' ? 0 : strtol(order->price, NULL, 10); // crashes here
}

int main(void)
{
    char line[256];
    long total = 0;
    while (fgets(line, sizeof(line), stdin) != NULL) {
        struct order order;
        read_order(&order, line);
        total += total_in_cents(&order);
        printf("%s: %ld so far\n", order.name, total);
    }
    return 0;
}
