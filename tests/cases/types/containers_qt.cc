// SPDX-License-Identifier: Apache-2.0
//
// Containers of Qt 5 or Qt 6. With an argument each is overwritten by pointers to
// itself.
#include <QByteArray>
#include <QHash>
#include <QList>
#include <QMap>
#include <QString>
#include <QVector>

struct large {
    long a, b;
};

static int *volatile nothing;

template <class T> static void damage(T &object)
{
    T *self = &object;
    for (size_t i = 0; i + sizeof(self) <= sizeof(object); i += sizeof(self))
        memcpy((char *)self + i, &self, sizeof(self));
}

int main(int argc, char **)
{
    QMap<int, QString> words;
    QMap<QString, int> counts;
    QMap<int, int> nothing_mapped;
    QHash<int, int> squares, nothing_hashed;
    QHash<QString, double> prices;
    QList<int> numbers;
    QList<QString> names;
    QList<large> pairs;
    QVector<int> evens;
    QString title = "a title";
    QByteArray bytes = "some bytes";
    for (int i = 0; i < 20; i++) {
        words[i * 3] = QString("w%1").arg(i);
        counts[QString("c%1").arg(i)] = i;
        numbers.append(i);
        evens.append(i * 2);
    }
    for (int i = 0; i < 4; i++) {
        squares[i] = i * i;
        prices[QString("p%1").arg(i)] = i + 0.5;
        names.append(QString("n%1").arg(i));
        pairs.append({ i, -i });
    }
    if (argc > 1) {
        damage(words), damage(counts), damage(squares), damage(prices), damage(numbers);
        damage(names), damage(pairs), damage(evens), damage(title), damage(bytes);
    }
    return *nothing;
}
