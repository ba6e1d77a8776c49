-- Nothing reads a store's orders by when they were made; every change of an order wrote it.
drop index orders_of_retailer;
